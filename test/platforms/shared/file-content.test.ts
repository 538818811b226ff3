import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contentOf } from "../../../src/platforms/shared/file-content.ts";

const UMLAUTS = "Größe und Maße: über, öfter, häufig, müssen, können, schön\n".repeat(4);
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
/** "Good morning, how are you today?", several times, in Shift_JIS. */
const JAPANESE = Buffer.from(
  "82a882cd82e682a482b282b482a282dc82b7814182b18da193fa82cd82a28d7782aa82c582b782a98148".repeat(6),
  "hex",
);

for (const [what, bytes, expected] of [
  ["UTF-8", Buffer.from("naïve – 水"), "naïve – 水"],
  ["UTF-8 with a mark", Buffer.from("\uFEFFa,b"), "a,b"],
  ["UTF-16, little end first", Buffer.from("\uFEFFhé", "utf16le"), "hé"],
  ["UTF-16, big end first", Buffer.from("\uFEFFhé", "utf16le").swap16(), "hé"],
  ["an older encoding of Western Europe", latin1(UMLAUTS), UMLAUTS],
  ["XML, which its first bytes tell", Buffer.from('<?xml version="1.0"?><a/>'), '<?xml version="1.0"?><a/>'],
  ["nothing", Buffer.alloc(0), ""],
] as const) {
  test(`text: ${what}`, async () => {
    assert.deepEqual(await contentOf(bytes), { kind: "text", text: expected });
  });
}

test("text: Japanese in its older encoding", async () => {
  const content = await contentOf(JAPANESE);
  assert.equal(content.kind, "text");
  assert.match(content.text, /^おはよう/);
});

for (const [what, hex, type] of [
  [
    "a voice message",
    "4f6767530002000000000000000000000000000000000000000001134f707573486561640101380180bb000000000000",
    "audio/ogg; codecs=opus",
  ],
  ["an archive", "504b0304140000000000", "application/zip"],
  ["bytes of no known type", "00010203fffe00ff", null],
] as const) {
  test(`no text: ${what}, whatever its name says`, async () => {
    assert.deepEqual(await contentOf(Buffer.from(hex, "hex")), { kind: "other", type });
  });
}

test("any bytes are something", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const content = await contentOf(bytes);
      if (content.kind === "text") assert.ok(content.text.isWellFormed());
    }),
    { numRuns: 300 },
  );
});

test("a PDF is told by its first bytes", async () => {
  assert.deepEqual(await contentOf(Buffer.from("%PDF-1.7\n")), { kind: "pdf" });
});
