import * as fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };
const CODE_POINTS = 0x11_0000;

/**
 * Any code point that is no surrogate, as a unit of `fc.string`. The library's own `unit: "binary"` makes a map of a million strings in
 * each process that uses it, which takes a second.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: CODE_POINTS - SURROGATES.count - 1 }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (character) => {
    const code = typeof character === "string" ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character) throw new Error("no character");
    if (code < SURROGATES.first) return code;
    if (code < SURROGATES.first + SURROGATES.count) throw new Error("a surrogate");
    return code - SURROGATES.count;
  },
);
