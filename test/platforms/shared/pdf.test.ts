// proves: src/platforms/shared/pdf-worker.ts
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { readPdf } from "../../../src/platforms/shared/pdf.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { pdfOf, streamOf } from "../../support/pdf.ts";

/** A machine that is busy reads slowly. */
const PATIENT = { ms: 300_000, memory: 400_000_000 };

describe("a PDF", () => {
  test("is read in its lines, with its signs", async () => {
    assert.deepEqual(await readPdf(pdfOf([{ words: ["Rent (2026)", "is 900 EUR"] }]), PATIENT), {
      kind: "text",
      pages: 1,
      shown: 1,
      text: "Rent (2026)\nis 900 EUR",
    });
  });

  test("of several pages names each; one without words stays in its place", async () => {
    const reading = await readPdf(pdfOf([{ words: ["first"] }, {}, { words: ["third"] }]), PATIENT);
    assert.deepEqual(reading, {
      kind: "text",
      pages: 3,
      shown: 3,
      text: "[page 1]\nfirst\n[page 2]\n\n[page 3]\nthird",
    });
  });

  test("is read up to a number of tokens, and says which pages", async () => {
    const line = "Quarterly revenue of the northern region grew by seven percent";
    const page = { words: Array.from({ length: 100 }, (_, index) => `${line} ${index}`) };
    const reading = await readPdf(pdfOf(Array.from({ length: 30 }, () => page)), PATIENT);
    assert.equal(reading.kind, "text");
    assert.equal(reading.pages, 30);
    assert.ok(reading.shown > 1 && reading.shown < 30, String(reading.shown));
    assert.ok(estimateTokens(reading.text) < 8200);
    assert.ok(reading.text.endsWith(`[… page ${reading.shown} goes on]`));
  });

  test("is read up to a number of pages", async () => {
    const pages = Array.from({ length: 130 }, (_, index) => ({ words: [`leaf ${index + 1}`] }));
    const reading = await readPdf(pdfOf(pages), PATIENT);
    assert.equal(reading.kind, "text");
    assert.deepEqual([reading.pages, reading.shown], [130, 100]);
    assert.ok(reading.text.endsWith("[page 100]\nleaf 100"));
  });

  test("without words is told from one that is damaged", async () => {
    assert.deepEqual(await readPdf(pdfOf([{}, {}]), PATIENT), { kind: "wordless", pages: 2 });
    assert.deepEqual(await readPdf(Buffer.from("%PDF-1.7\nnothing"), PATIENT), { kind: "damaged" });
    assert.deepEqual(await readPdf(Buffer.alloc(0), PATIENT), { kind: "damaged" });
  });

  test("that grows to hundreds of megabytes is given up, and the next one is read", async () => {
    const bomb = deflateSync(deflateSync(Buffer.alloc(300_000_000, " "), { level: 1 }));
    const page = { content: bomb, filter: "[/FlateDecode /FlateDecode]" };
    const reading = await readPdf(pdfOf([page]), { ...PATIENT, memory: 100_000_000 });
    assert.deepEqual(reading, { kind: "too large" });
    assert.equal((await readPdf(pdfOf([{ words: ["next"] }]), PATIENT)).kind, "text");
  });

  test("that never ends is given up", async () => {
    // Each of twelve forms draws the next twenty times.
    const forms = Array.from({ length: 12 }, (_, index) =>
      streamOf(
        Buffer.from(index === 11 ? "BT /F1 12 Tf (x) Tj ET" : "/N Do\n".repeat(20)),
        undefined,
        `/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /Font << /F1 3 0 R >> /XObject << /N ${7 + index} 0 R >> >>`,
      ),
    );
    const endless = pdfOf([{ content: Buffer.from("/N Do") }], {
      more: forms,
      resources: "/XObject << /N 6 0 R >>",
    });
    assert.deepEqual(await readPdf(endless, { ...PATIENT, ms: 500 }), { kind: "too slow" });
  });
});

test("the library is a worker's alone: a start does not read it", () => {
  const source = join(import.meta.dirname, "../../../src");
  const naming = (name: string): string[] =>
    globSync("**/*.ts", { cwd: source }).filter((file) =>
      readFileSync(join(source, file), "utf8").includes(`from "${name}"`),
    );
  assert.deepEqual(naming("unpdf"), ["platforms/shared/pdf-worker.ts"]);
  assert.deepEqual(naming("./pdf-worker.ts"), []);
});
