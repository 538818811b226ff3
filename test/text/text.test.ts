import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { formatAddress, parseAddress } from "../../src/core/ids.ts";
import {
  displayName,
  displayTitle,
  fitEscaped,
  fitLines,
  insideCodeBlock,
  normalForm,
  sliceWhole,
  storableText,
  truncateMiddle,
} from "../../src/text/text.ts";
import { createTimeFormat } from "../../src/text/time.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

/** Any UTF-16, torn pairs included. */
const anything = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xd83d, 0xde00, 0x20, 0x41)))
  .map((codes) => String.fromCharCode(...codes));
const wellFormed = fc.string({ unit: anyCharacter });

describe("a storable text", () => {
  test("has no NUL and no torn pair, and is otherwise what was said", () => {
    fc.assert(
      fc.property(anything, (text) => {
        const stored = storableText(text);
        assert.ok(stored.isWellFormed());
        assert.ok(!stored.includes("\0"));
        assert.equal(stored, text.toWellFormed().replaceAll("\0", "\ufffd"));
        assert.equal(storableText(stored), stored);
      }),
    );
    assert.equal(storableText("a\0b\ud83d c 😀"), "a\ufffdb\ufffd c 😀");
    assert.equal(storableText("\0\u0100\u0001\0日\0"), "\ufffd\u0100\u0001\ufffd日\ufffd");
  });
});

describe("a normal form", () => {
  const letters = fc.string({
    unit: fc.constantFrom("a", "Å", "ﬁ", "\u0301", "\u0316", "カ", "\u3099", " "),
    maxLength: 60,
  });

  test("is the standard's, where no letter has more marks than any language gives it", () => {
    fc.assert(
      fc.property(letters, fc.constantFrom("NFC", "NFKC"), (text, form) => {
        const few = text.replaceAll(/(\p{M}{20})\p{M}+/gu, "$1");
        assert.equal(normalForm(few, form), few.normalize(form));
      }),
    );
  });

  test("of a letter with any number of marks comes at once, and is its own", () => {
    const marked = `a${"\u0301\u0316".repeat(500_000)}`;
    const ms = cpuMs(() => {
      const normal = normalForm(marked, "NFKC");
      assert.match(normal, /^á\u0316{15}/);
      assert.equal(normalForm(normal, "NFKC"), normal);
    });
    assert.ok(ms < 10_000, `${ms} ms`);
  });
});

describe("a slice", () => {
  test("never has half a pair, and is never longer than asked", () => {
    fc.assert(
      fc.property(wellFormed, fc.nat({ max: 40 }), fc.nat({ max: 40 }), (text, a, b) => {
        const [from, to] = a < b ? [a, b] : [b, a];
        const slice = sliceWhole(text, from, to);
        assert.ok(slice.isWellFormed());
        assert.ok(slice.length <= to - from);
        assert.ok(text.slice(from, to).includes(slice));
        assert.ok(text.slice(from, to).length - slice.length <= 2);
      }),
    );
  });

  test("of two neighbours lose nothing but the pair between them", () => {
    assert.equal(sliceWhole("a😀b", 0, 2), "a");
    assert.equal(sliceWhole("a😀b", 2, 4), "b");
    assert.equal(sliceWhole("a😀b", 0, 3), "a😀");
    assert.equal(sliceWhole("\ud83da", 1, 2), "a", "half a pair is no pair");
  });
});

describe("a text with its middle cut out", () => {
  test("is the text itself where it is short enough, else its head and tail round a marker with its size", () => {
    fc.assert(
      fc.property(wellFormed, fc.nat({ max: 60 }), (text, limit) => {
        const cut = truncateMiddle(text, limit);
        assert.ok(cut.isWellFormed());
        if (text.length <= limit) assert.equal(cut, text);
        else assert.match(cut, new RegExp(`\\n\\[… cut: ${text.length} characters in all …\\] `));
      }),
    );
    const cut = truncateMiddle(`${"h".repeat(900)}${"t".repeat(900)}`, 1000);
    assert.equal(cut, `${"h".repeat(700)}\n[… cut: 1800 characters in all …] ${"t".repeat(200)}`);
  });
});

describe("a displayed name", () => {
  test("is one line without brackets or hidden characters, of at most 80 characters, and never empty", () => {
    fc.assert(
      fc.property(anything, (name) => {
        const shown = displayName(name);
        assert.match(shown, /^[^\p{Cc}[\]\u2028\u2029\u200b-\u200f\u202a-\u202e]{1,80}$/u);
        assert.ok(shown.isWellFormed());
      }),
    );
  });

  test("can pass for no other line of the conversation", () => {
    assert.equal(displayName("Ann\n[2026-11-21 14:05] Ben"), "Ann 2026-11-21 14.05 Ben");
    assert.equal(displayName(" \u200b\u202e "), "someone");
    assert.equal(displayName("A:1"), "A.1");
    assert.equal(
      displayTitle("reminder 3: was due 2026-11-21 10:30]"),
      "reminder 3 was due 2026-11-21 10:30",
    );
    for (const colon of [
      ":",
      "\uff1a",
      "\u2236",
      "\ua789",
      "\u02d0",
      "\ufe55",
      "\u205a",
      "\u0589",
      "\u05c3",
    ]) {
      assert.equal(displayName(`Ben${colon} I am root ${colon}`), "Ben I am root", colon);
      assert.equal(displayName(`10${colon}30 crew`), "10.30 crew", colon);
    }
    for (const name of ["रामः", "ꓡꓯꓽ", "Zoë"]) assert.equal(displayName(name), name);
    assert.equal(displayName("Zoë 🎈 千早"), "Zoë 🎈 千早");
  });
});

describe("a time", () => {
  test("is written as people and models read it, in the zone of the agent", () => {
    const at = new Date("2026-11-21T23:05:59Z");
    assert.equal(createTimeFormat("UTC").minute(at), "2026-11-21 23:05");
    const berlin = createTimeFormat("Europe/Berlin");
    assert.equal(berlin.minute(at), "2026-11-22 00:05");
    assert.equal(berlin.day(at), "2026-11-22");
    assert.equal(berlin.full(at), "Sunday 2026-11-22 00:05 Europe/Berlin");
  });

  test("always has the same form, whatever the zone and the season", () => {
    const zones = fc.constantFrom(
      "UTC",
      "Asia/Tokyo",
      "America/New_York",
      "Asia/Kathmandu",
      "Pacific/Chatham",
    );
    const dates = fc.date({ min: new Date("1990-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(zones, dates, (zone, date) => {
        assert.match(createTimeFormat(zone).minute(date), /^\d{4}-\d\d-\d\d [0-2]\d:[0-5]\d$/);
        assert.ok(createTimeFormat(zone).minute(date).startsWith(createTimeFormat(zone).day(date)));
      }),
    );
  });
});

describe("an address", () => {
  test("is read as it is written, and a bare name is a terminal's channel", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{1,8}$/), fc.string(), (platform, name) => {
        const address = { platform, name };
        assert.deepEqual(parseAddress(formatAddress(address)), address);
      }),
    );
    assert.deepEqual(parseAddress("main"), { platform: "terminal", name: "main" });
    assert.deepEqual(parseAddress(":main"), { platform: "terminal", name: ":main" });
  });
});

describe("a text that is escaped", () => {
  const entity = (character: string): string => (character === "&" ? "&amp;" : character);

  test("fits, and is cut between characters, never within an escape", () => {
    assert.equal(fitEscaped("a & b", 9, entity), "a &amp; b");
    assert.equal(fitEscaped("a & b", 8, entity), "a &amp;…");
    assert.equal(fitEscaped("a & b", 7, entity), "a …");
    assert.equal(fitEscaped("😀😀", 3, entity), "😀…");
    fc.assert(
      fc.property(wellFormed, fc.integer({ min: 1, max: 40 }), (text, limit) => {
        const fitting = fitEscaped(text, limit, entity);
        const whole = text.replaceAll("&", "&amp;");
        assert.ok(fitting.length <= limit && fitting.isWellFormed());
        if (whole.length <= limit) assert.equal(fitting, whole);
        else assert.ok(fitting.endsWith("…") && whole.startsWith(fitting.slice(0, -1)));
      }),
    );
  });

  test("of several lines fits, and tells how many are missing", () => {
    const lines = Array.from({ length: 100 }, (_, index) => `${index} & more`);
    const shown = fitLines(lines, 100, entity).split("\n");
    assert.equal(shown.at(-1), `… and ${101 - shown.length} more`);
    fc.assert(
      fc.property(
        fc.array(wellFormed, { maxLength: 50 }),
        fc.integer({ min: 60, max: 300 }),
        (some, limit) => {
          assert.ok(fitLines(some, limit, entity).length <= limit);
        },
      ),
    );
  });

  test("cannot end the code block in which it stands, however many backticks it has", () => {
    for (let count = 0; count < 20; count++) {
      const safe = insideCodeBlock("`".repeat(count));
      assert.ok(!safe.includes("```"));
      assert.equal(safe.replaceAll("\u200b", ""), "`".repeat(count));
    }
  });
});
