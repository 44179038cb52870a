"""Sparse tensors: encodings are carried as text, operations too."""

from __future__ import annotations

import warnings

import pytest

from gpucodegen.parser import parse_module

ENCODINGS = [
    "map = (d0, d1) -> (d0 : dense, d1 : compressed)",
    "map = (d0, d1) -> (d0 : dense, d1 : compressed), posWidth = 32, crdWidth = 32",
    "map = (d0, d1) -> (d0 : compressed(nonunique), d1 : singleton(soa))",
    "map = ( i, j ) -> ( i floordiv 2 : dense, j : compressed, i mod 2 : dense )",
    'dimLevelType = [ "dense", "compressed" ], pointerBitWidth = 8',
    'lvlTypes = [ "dense", "compressed" ], dimToLvl = affine_map<(i, j) -> (j, i)>',
]

OPERATIONS = """
%0 = sparse_tensor.convert %d : tensor<?x?xf64> to tensor<?x?xf64, #E>
%0 = sparse_tensor.values %a : tensor<?x?xf64, #E> to memref<?xf64>
%0 = sparse_tensor.positions %a {level = 1} : tensor<?x?xf64, #E> to memref<?xi8>
%0 = sparse_tensor.number_of_entries %a : tensor<?x?xf64, #E>
%0 = sparse_tensor.load %a hasInserts : tensor<?x?xf64, #E>
%0 = sparse_tensor.insert %v into %a[%i, %i] : tensor<?x?xf64, #E>
%0 = sparse_tensor.unary %v : f64 to f64 present={ ^bb0(%x: f64): } absent={}
%0 = sparse_tensor.reduce %v, %v, %v : f64 { ^bb0(%x: f64, %y: f64): }
%0:2 = sparse_tensor.push_back %i, %b, %v : index, memref<?xf64>, f64
""".strip().splitlines()


def _print(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(parse_module(text, allow_unregistered=True))


@pytest.mark.cases("encoding", ENCODINGS)
def test_encodings_survive(encoding: str):
    alias = f"#E = #sparse_tensor.encoding<{{ {encoding} }}>\n"
    text = _print(alias + "func.func private @f(tensor<?x?xf64, #E>)")
    assert encoding in text
    assert _print(text) == text


@pytest.mark.cases("statement", OPERATIONS)
def test_operations_are_kept(statement: str):
    text = _print(
        f"#E = #sparse_tensor.encoding<{{ {ENCODINGS[0]} }}>\n"
        "func.func @f(%a: tensor<?x?xf64, #E>, %d: tensor<?x?xf64>, %v: f64,"
        f" %i: index, %b: memref<?xf64>) {{\n{statement}\nreturn\n}}"
    )
    assert statement.split()[2] in text
    assert _print(text) == text
