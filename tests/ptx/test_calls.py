"""Device functions, indirect branches, what kernels print, constants of a module."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen import ptx
from gpucodegen.ptx import faults
from tests.ptx.kernels import changed, entry, fault, launch

HEAD = ".version 8.4\n.target sm_90\n.address_size 64\n"

NESTED = (
    HEAD
    + """.func (.reg .u32 %q, .reg .u32 %m) divided(.reg .u32 %a, .reg .u32 %b)
{ div.u32 %q, %a, %b; rem.u32 %m, %a, %b; ret; }
.func (.reg .u32 %s) digits(.reg .u32 %n)
{ .reg .u32 %x, %y; .reg .pred %p;
  mov.u32 %s, 0;
$L: call (%x, %y), divided, (%n, 10); add.u32 %s, %s, %y; mov.u32 %n, %x;
  setp.ne.u32 %p, %n, 0; @%p bra $L; ret; }
.func (.param .b32 one, .param .b64 two) both(.param .b32 n)
{ .reg .u32 %a; .reg .u64 %b; ld.param.u32 %a, [n]; mul.wide.u32 %b, %a, %a;
  add.u32 %a, %a, 1; st.param.b32 [one], %a; st.param.b64 [two], %b; ret; }
.visible .entry k(.param .u64 k_0)
{ .reg .u32 %r<9>; .reg .u64 %d<9>; .reg .pred %p<9>;
  mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; mad.wide.u32 %d2, %r1, 4, %d1;
  mad.lo.u32 %r2, %r1, %r1, 7; setp.ne.u32 %p1, %r1, 5; mov.u32 %r3, 1000;
  @%p1 call (%r3), digits, (%r2);
  { .param .b32 p0; .param .b32 r0; .param .b64 r1; st.param.b32 [p0], %r1;
    call.uni (r0, r1), both, (p0); ld.param.u32 %r4, [r0]; ld.param.u64 %d3, [r1]; }
  cvt.u32.u64 %r5, %d3; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;
  st.global.u32 [%d2], %r3; ret; }"""
)


def digits(number: int) -> int:
    return sum(map(int, str(number)))


def test_functions_have_several_results() -> None:
    out = np.zeros(40, "i4")
    launch(NESTED, 1, 40, out)
    right = [digits(i * i + 7) + i + 1 + i * i for i in range(40)]
    right[5] = 1000 + 6 + 25
    assert out.tolist() == right


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("digits, (%r2)", "%d1, (%r2)"), "external, indirect or recursive"),
        (("call (%x, %y), divided, (%n, 10)", "call (%x), digits, (%n)"), "recursive"),
    ],
)
def test_calls_that_are_refused_name_their_line(
    edit: tuple[str, str], reason: str
) -> None:
    text = changed(NESTED, edit)
    with pytest.raises(ptx.Unsupported, match=reason) as caught:
        ptx.Module(text).program("k")
    assert "call" in text.splitlines()[caught.value.problems[0].line - 1]


CHOICE = entry(
    "u64",
    """mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; mad.wide.u32 %d2, %r1, 4, %d1;
    rem.u32 %r2, %r1, 3; mov.u32 %r3, 0; setp.gt.u32 %p1, %r1, 59;
ts: .branchtargets $A, $B, $C;
    @!%p1 brx.idx %r2, ts;
    add.u32 %r3, %r3, 100;
$A: add.u32 %r3, %r3, 1;
$B: add.u32 %r3, %r3, 10;
$C: st.global.u32 [%d2], %r3; ret;""",
)


def test_lanes_choose_among_labels() -> None:
    out = np.zeros(64, "i4")
    launch(CHOICE, 1, 64, out)
    assert out.tolist() == [[11, 10, 0][i % 3] if i < 60 else 111 for i in range(64)]
    problem = fault(changed(CHOICE, ("%r1, 3;", "%r1, 4;")), 1, 64, out)
    assert (problem.kind, problem.thread) == (faults.OUT_OF_BOUNDS, (3, 0, 0))
    with pytest.raises(ptx.Unsupported, match="unknown targets"):
        ptx.Module(changed(CHOICE, ("$A, $B, $C;", "$A, $Z;"))).program("k")


SAID = (
    HEAD
    + """.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,
  .param .b64 e);
.global .align 1 .b8 text[26] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 108, 108,
  120, 32, 37, 115, 32, 37, 117, 37, 37, 10, 0};
.global .align 1 .b8 name[4] = {97, 98, 0};
.visible .entry k(.param .u64 k_0, .param .u32 k_1)
{ .local .align 8 .b8 own[40]; .reg .b32 %r<9>; .reg .b64 %d<20>; .reg .f64 %g<3>;
  .reg .pred %p<3>;
  mov.u32 %r1, %tid.x; mov.u64 %d1, own; cvta.local.u64 %d2, %d1;
  cvt.rn.f64.u32 %g1, %r1; neg.s32 %r2, %r1; cvt.s64.s32 %d3, %r2;
  mov.u64 %d4, name; cvta.global.u64 %d5, %d4; mov.u64 %d6, text;
  cvta.global.u64 %d7, %d6; st.local.u32 [%d1], %r2; st.local.f64 [%d1+8], %g1;
  st.local.u64 [%d1+16], %d3; st.local.u64 [%d1+24], %d5; st.local.u32 [%d1+32], %r2;
  { .param .b64 p0; st.param.b64 [p0+0], %d7; .param .b64 p1; st.param.b64 [p1+0], %d2;
    .param .b32 r0; call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r3, [r0+0]; }
  ld.param.u64 %d8, [k_0]; mad.wide.u32 %d9, %r1, 4, %d8; st.global.u32 [%d9], %r3;
  ld.param.u32 %r4, [k_1]; setp.lt.u32 %p1, %r1, %r4; @%p1 bra $END;
  { .param .b64 p0; st.param.b64 [p0], %d5; .param .b64 p1; st.param.b64 [p1], %d5;
    .param .b32 p2; st.param.b32 [p2], 12; .param .b64 p3; st.param.b64 [p3], %d5;
    .param .b64 p4; st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4); }
$END: ret; }"""
)


def test_lanes_print_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    out = np.zeros(3, "i4")
    launch(SAID, 1, 3, out, np.int32(3), output=lines.append)
    word = [(-i) % 2**32 for i in range(3)]
    right = [f"{-i} {i:5.2f} {-i % 2**64:x} ab {word[i]}%\n" for i in range(3)]
    assert lines == right
    assert out.tolist() == [5, 5, 5]
    launch(SAID, 1, 1, out, np.int32(3))
    assert capsys.readouterr().out == right[0]


def test_assertions_end_the_kernel() -> None:
    problem = fault(SAID, 1, 3, np.zeros(3, "i4"), np.int32(1), output=len)
    assert problem.kind == faults.TRAP
    assert problem.thread == (1, 0, 0)
    assert "assertion ab failed, ab:12: ab" in str(problem)


TABLES = (
    HEAD
    + """.const .align 4 .f32 weights[2][3] = {{0f3F800000, 2.5, -1}, {4.0, 5e0, 6.0}};
.global .align 8 .f64 double = 0d4008000000000000;
.global .align 2 .u16 words[3] = {0xffff, 010, 0b11};
.visible .entry k(.param .u64 k_0)
{ .reg .b32 %r<9>; .reg .b64 %d<20>; .reg .f32 %f<5>; .reg .f64 %g<3>;
  mov.u32 %r1, %tid.x; mov.u64 %d1, weights; mad.wide.u32 %d2, %r1, 4, %d1;
  ld.const.f32 %f1, [%d2]; ld.global.f64 %g1, [double]; cvt.rn.f32.f64 %f2, %g1;
  add.f32 %f1, %f1, %f2; ld.param.u64 %d3, [k_0]; mad.wide.u32 %d4, %r1, 4, %d3;
  ld.global.u16 %r2, [words+2]; cvt.rn.f32.u32 %f3, %r2; add.f32 %f1, %f1, %f3;
  st.global.f32 [%d4], %f1; ret; }"""
)


def test_tables_of_a_module() -> None:
    out = np.zeros(6, "f4")
    launch(TABLES, 1, 6, out)
    assert out.tolist() == [12.0, 13.5, 10.0, 15.0, 16.0, 17.0]
