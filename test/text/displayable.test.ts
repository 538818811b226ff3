import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { displayable, displayableLine, heldBack } from "../../src/text/displayable.ts";
import { anyCharacter } from "../support/any-character.ts";

// oxlint-disable-next-line no-control-regex -- control characters are what must not be there
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const anyText = fc.string({ unit: anyCharacter, maxLength: 200 });

describe("displayable text", () => {
  test("shows escapes and control characters instead of obeying them", () => {
    assert.equal(displayable("\u001B[2Jgone\u0007\u007F\0"), "␛[2Jgone␇␡␀");
    assert.equal(displayable("\u009B31m"), "\uFFFD31m");
    assert.equal(displayable("a\rb"), "a␍b");
  });

  test("keeps new lines, tabs, and letters of any direction", () => {
    assert.equal(displayable("a\n\tb\r\nשלום 日本語 👍🏽"), "a\n\tb\nשלום 日本語 👍🏽");
    assert.equal(displayable("safe\u202Eevil\u2066x"), "safeevilx");
  });

  test("holds nothing that a terminal obeys, whatever it is made from", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = displayable(text);
        assert.ok(!OBEYED.test(shown));
        assert.ok(shown.isWellFormed());
        assert.equal(displayable(shown), shown);
      }),
    );
  });

  test("of a text cut anywhere is the same, but for what is held back", () => {
    fc.assert(
      fc.property(anyText, fc.nat(), (text, at) => {
        const cut = text.slice(0, at % (text.length + 1));
        const head = cut.slice(0, cut.length - heldBack(cut));
        assert.equal(displayable(head) + displayable(text.slice(head.length)), displayable(text));
      }),
    );
  });

  test("of a name is one line", () => {
    assert.equal(displayableLine("a\n\tb\u001B"), "a b␛");
  });
});
