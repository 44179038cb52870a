"""Every construct of five documents, and the tests that show what it does.

``rows.txt`` lists the constructs: id, where it stands, what it is, the rule, and what
is owed: P parses, prints and parses back; V breaking the rule is an error with line
and column; X executes; A the analysis of dependences models it.  The chunks of
``*.mlir`` pay; ``open.txt`` says what no chunk can, ``elsewhere.txt`` what other tests
show.

A chunk begins with ids and duties::

    // ----- R2 V LiteralTypeMismatch
    "t.t"() {a = §42 : f32} : () -> ()

``//< id`` stands for a piece of the documents, completed where it has to be.  With the
name of an error, § is where that error must point.  Otherwise the chunk must
parse and print, and the lines below it say more: ``//> text`` stands in the printed
module, ``//~ Name`` is a warning of parsing, ``//= expression`` holds, with the
module's functions and `helpers` as names.  ``//! reason`` marks a chunk that is known
to fail: it is listed as open, and a test that suddenly passes says so.
"""
