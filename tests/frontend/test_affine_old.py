"""Affine operations in the generic form of earlier years become today's."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module

FORMS = """
"affine.for"(%n) ({ ^bb0(%i: index): "affine.terminator"() : () -> () })
  {lower_bound = () -> (0), upper_bound = (d0) -> (d0), step = 2 : i32} : (index) -> ()
=> affine.for %i = 0 to affine_map<(d0) -> (d0)>(%n) step 2 {

%0 = "affine.for"(%n, %f) ({ ^bb0(%i: index, %a: f32): affine.yield %a : f32 })
  {lower_bound = () -> (0), upper_bound = (d0) -> (d0)} : (index, f32) -> f32
=> to affine_map<(d0) -> (d0)>(%n) iter_args(%a = %f) -> (f32) {

"affine.parallel"() ({ ^bb0(%i: index): "affine.yield"() : () -> () })
  {lowerBoundsMap = () -> (0), upperBoundsMap = () -> (4), steps = [1]} : () -> ()
=> affine.parallel (%i) = (0) to (4) {

%0:2 = affine.parallel (%i) = (0) to (4) reduce ("minf", "maxf") -> (f32, f32) {
  affine.yield %f, %f : f32, f32
}
=> reduce ("minimumf", "maximumf") -> (f32, f32) {

%0:2 = "affine.delinearize_index"(%n, %n, %n)
  : (index, index, index) -> (index, index)
=> %0:2 = affine.delinearize_index %n into (%n, %n) : index, index
"""


@pytest.mark.cases("form", FORMS.strip().split("\n\n"))
def test_old_form_becomes_todays(form: str):
    old, today = form.split("\n=> ")
    text = str(parse_module(f"func @f(%n: index, %f: f32) {{\n{old}\nreturn\n}}"))
    assert today in text
    assert str(parse_module(text)) == text


def test_abandoned_loops_are_told_of_iter_args():
    text = "mlfunc @f(%n: index, %x: i32) {\n  for %i = 0 to %n with %t(%x) {\n  }\n}"
    with pytest.raises(errors.UnexpectedToken, match="iter_args"):
        parse_module(text)
