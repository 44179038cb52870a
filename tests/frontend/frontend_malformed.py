"""Wrong programs: name -> (text with § where the error points, code, part of the text)."""

from __future__ import annotations

F32 = "func.func @f(%x: f32, %n: index, %A: memref<4x?xf32>) {\n  %c0 = arith.constant 0 : index\n"

MALFORMED: dict[str, tuple[str, str, str]] = {
    # -- syntax
    "missing parenthesis": ("func.func @f(%a: i32 §-> i32 {\n}", "P004", "'('"),
    "missing brace": ("func.func @f() {\n  return\n§", "P004", "'{'"),
    "string runs on": ('func.func @f() attributes {a = §"x} {\n}', "P002", "quote"),
    "strange character": ("func.func @f() {\n  return §☃\n}", "P003", "invalid"),
    "no operation": ("func.func @f() {\n  %x = §)\n}", "P001", "an operation"),
    "missing symbol": ("func.func §$@f() {\n}", "P001", "'@'"),
    "missing colon": (
        F32 + "  %0 = arith.addf %x, %x §f32\n  return\n}",
        "P001",
        "':'",
    ),
    "missing angle": ("func.func @f(%a: tensor<4xf32§) {\n}", "P004", "'<'"),
    "unknown type": ("func.func @f(%a: §f33) {\n}", "P008", "'f32'"),
    "unknown alias": ("func.func @f(%a: §!alia) {\n}", "P009", "!alia"),
    "unknown attribute alias": (
        "#map0 = affine_map<(d0) -> (d0)>\nfunc.func @f(%i: index) {\n"
        "  %0 = affine.apply §#map1(%i)\n  return\n}",
        "P009",
        "#map0",
    ),
    "alias twice": ("!a = i32\n§!a = i64", "P010", "already"),
    "duplicate key": ("func.func @f() attributes {a, §a} {\n}", "P011", "twice"),
    "memref without x": (
        "func.func @f(%a: memref<§*f32>) {\n}",
        "P001",
        "memref<*xf32>",
    ),
    "memref without element": (
        "func.func @f(%a: memref<2x§3, 1>) {\n}",
        "P001",
        "type",
    ),
    "zero vector": ("func.func @f(%a: vector<§0xf32>) {\n}", "P024", "positive"),
    "tensor in complex": ("func.func @f(%a: complex<§index>) {\n}", "P024", "float"),
    # -- names
    "unknown operation": (
        F32 + "  %0 = §arith.adf %x, %x : f32\n}",
        "P005",
        "arith.addf",
    ),
    "unknown dialect": (F32 + "  §foo.bar %x : f32\n}", "P005", "allow unregistered"),
    "unknown generic": ('func.func @f() {\n  §"foo"() : () -> ()\n}', "P005", "'foo'"),
    "undefined value": (
        F32 + "  %0 = arith.addf %x, §%y : f32\n  return\n}",
        "P006",
        "%x",
    ),
    "undefined without type": (F32 + "  func.return §%z : f32\n}", "P006", "%z"),
    "defined twice": (
        F32 + "  §%x = arith.constant 1 : i32\n  return\n}",
        "P007",
        "%x",
    ),
    "argument twice": ("func.func @f(%a: i32, §%a: i32) {\n  return\n}", "P007", "%a"),
    "undefined block": ("func.func @f() {\n  cf.br §^bb7\n}", "P017", "^bb7"),
    "block twice": (
        "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^b\n^b:\n  return\n§^a:\n  return\n}",
        "P018",
        "^a",
    ),
    # -- types and counts
    "wrong written type": (
        F32 + "  %0 = arith.addf §%x, %x : f64\n  return\n}",
        "P014",
        "f32",
    ),
    "type count": (F32 + "  return §%x, %x : f32\n}", "P015", "2 operand"),
    "result count": (
        F32 + "  §%0:2 = arith.addf %x, %x : f32\n  return\n}",
        "P016",
        "1 result",
    ),
    "named nothing": (F32 + "  §%0 = func.return\n}", "P016", "0 result(s)"),
    "integer for float": (
        "func.func @f() {\n  %0 = arith.constant §42 : f32\n}",
        "P013",
        "42.0",
    ),
    "float for integer": (
        "func.func @f() {\n  %0 = arith.constant §4.5 : i32\n}",
        "P013",
        "i32",
    ),
    "too big": ("func.func @f() {\n  %0 = arith.constant §300 : i8\n}", "P012", "300"),
    "ragged dense": (
        "func.func @f() {\n  %0 = arith.constant dense<§[[1, 2], [3]]> : tensor<2x2xi32>\n}",
        "P023",
        "row",
    ),
    "dense shape": (
        "func.func @f() {\n  %0 = arith.constant dense<§[1, 2, 3]> : tensor<2xi32>\n}",
        "P021",
        "shape 3",
    ),
    # -- affine
    "two dimensions multiplied": (
        "#m = affine_map<(i, j) -> (i §* j)>",
        "P022",
        "constant or a symbol",
    ),
    "division by zero": ("#m = affine_map<(i) -> (i §mod 0)>", "P022", "positive"),
    "undeclared in map": ("#m = affine_map<(i) -> (§k)>", "P022", "'k'"),
    "stray comma": ("#m = (i, j)§, [M, N] -> (i)", "P001", "comma"),
    "map arity": (
        "#m = affine_map<(i, j) -> (i)>\nfunc.func @f(%n: index) {\n"
        "  %0 = affine.apply #m§(%n)\n  return\n}",
        "V012",
        "2 dimension",
    ),
    "negative step": (
        F32 + "  affine.for %i = 0 to 4 step §-1 {\n  }\n  return\n}",
        "P026",
        "positive",
    ),
    "data dependent bound": (
        F32 + "  scf.for %i = %c0 to %n step %n {\n"
        "    §affine.for %j = 0 to %i {\n    }\n  }\n  return\n}",
        "V011",
        "scf.for",
    ),
    "loop variable as symbol": (
        F32 + "  affine.for %i = 0 to 4 {\n    %0 = §affine.load %A[symbol(%i), %i]"
        " : memref<4x?xf32>\n  }\n  return\n}",
        "V011",
        "symbol",
    ),
    "missing index": (
        F32 + "  %0 = §affine.load %A[%n] : memref<4x?xf32>\n  return\n}",
        "V013",
        "rank 2",
    ),
    "missing plain index": (
        F32 + "  %0 = §memref.load %A[%n] : memref<4x?xf32>\n  return\n}",
        "V013",
        "rank 2",
    ),
    "missing min": (
        "#m = affine_map<(i) -> (i, 4)>\nfunc.func @f(%n: index) {\n"
        "  affine.for %i = 0 to §#m(%n) {\n  }\n  return\n}",
        "P026",
        "'min'",
    ),
    # -- structure
    "no terminator": (
        "func.func @f() {\n  %0 = §arith.constant 1 : i32\n}",
        "V004",
        "return",
    ),
    "after the return": ("func.func @f() {\n  §return\n  return\n}", "V005", "last"),
    "empty body": ("func.func @f() §{\n}", "V027", "return"),
    "wrong return": (
        "func.func @f(%a: i32) -> i64 {\n  §return %a : i32\n}",
        "V010",
        "i64",
    ),
    "unknown callee": (
        "func.func @f() {\n  §call @g() : () -> ()\n  return\n}",
        "V007",
        "@g",
    ),
    "wrong call": (
        "func.func @f(%a: i32) {\n  §call @f() : () -> ()\n  return\n}",
        "V009",
        "(i32) -> ()",
    ),
    "function twice": (
        "func.func @f() {\n  return\n}\n§func.func @f() {\n  return\n}",
        "V008",
        "@f",
    ),
    "use before definition": (
        "func.func @f(%a: i32) {\n  %0 = §arith.addi %1, %a : i32\n"
        "  %1 = arith.addi %a, %a : i32\n  return\n}",
        "V006",
        "dominate",
    ),
    "not dominated": (
        "func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^b\n^a:\n"
        "  %x = arith.constant 1 : i32\n  cf.br ^b\n^b:\n  §func.call @g(%x) : (i32) -> ()\n"
        "  return\n}\nfunc.func private @g(i32)",
        "V006",
        "%x",
    ),
    "escape from a region": (
        "func.func @f(%c: i1) {\n  scf.if %c {\n    %x = arith.constant 1 : i32\n  }\n"
        "  %0 = arith.addi §%x, %x : i32\n  return\n}",
        "P006",
        "%x",
    ),
    "branch to entry": ("func.func @f() {\n^a:\n  §cf.br ^a\n}", "V019", "entry"),
    "branch arguments": (
        "func.func @f(%a: i32) {\n  §cf.br ^b(%a : i32)\n^b:\n  return\n}",
        "V018",
        "(i32)",
    ),
    "yield types": (
        F32 + "  %0 = affine.for %i = 0 to 4 iter_args(%s = %x) -> (f32) {\n"
        "    §affine.yield %i : index\n  }\n  return\n}",
        "V017",
        "f32",
    ),
    "yield outside": (F32 + "  §affine.yield\n}", "V023", "affine.for"),
    "integer operation on floats": (
        F32 + "  %0 = §arith.addi %x, %x : f32\n  return\n}",
        "V021",
        "integer",
    ),
    "bad cast": (
        F32
        + "  %0 = §memref.cast %A : memref<4x?xf32> to memref<5x?xf32>\n  return\n}",
        "V026",
        "static extents",
    ),
    "alloc sizes": (
        F32 + "  %0 = memref.alloc§() : memref<?xf32>\n  return\n}",
        "P026",
        "'?'",
    ),
    "missing attribute": (
        'func.func @f() {\n  %0 = §"arith.constant"() : () -> i32\n  return\n}',
        "V014",
        "value",
    ),
    "operand count": (
        'func.func @f(%a: i32) {\n  %0 = §"arith.addi"(%a) : (i32) -> i32\n  return\n}',
        "V002",
        "2 operand",
    ),
    "predicate": (
        F32 + "  %0 = arith.cmpf §lt, %x, %x : f32\n  return\n}",
        "P001",
        "olt",
    ),
    "matmul shapes": (
        "func.func @f(%a: memref<4x8xf32>, %b: memref<9x4xf32>, %c: memref<4x4xf32>) {\n"
        "  §linalg.matmul ins(%a, %b : memref<4x8xf32>, memref<9x4xf32>)"
        " outs(%c : memref<4x4xf32>)\n  return\n}",
        "V016",
        "extent 8",
    ),
    "generic maps": (
        "func.func @f(%a: memref<4xf32>) {\n  §linalg.generic {indexing_maps ="
        ' [affine_map<(i, j) -> (i)>], iterator_types = ["parallel"]}'
        " outs(%a : memref<4xf32>) {\n  ^bb0(%o: f32):\n    linalg.yield %o : f32\n  }\n"
        "  return\n}",
        "V016",
        "2 dimensions",
    ),
    "deep nesting": (
        "func.func @f(%a: " + "tuple<" * 100 + "§tuple<" * 200,
        "P019",
        "levels",
    ),
    "dma types": (
        F32 + "  §memref.dma_start %A[%n, %n], %A[%n, %n], %n, %A[%n, %n]"
        " : memref<4x?xf32>, memref<4x?xf32>, memref<4x?xf32>\n  return\n}",
        "V021",
        "integers",
    ),
}
