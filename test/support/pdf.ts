import { deflateSync } from "node:zlib";

export interface PdfPage {
  readonly words?: readonly string[];
  /** The page's content as it is, in place of words. */
  readonly content?: Buffer;
  readonly filter?: string;
}

/** A PDF with a page each. `more`: further objects, from number `3 + 2 * pages.length + 1` on. */
export function pdfOf(
  pages: readonly PdfPage[],
  { more = [], resources = "" }: { readonly more?: readonly Buffer[]; readonly resources?: string } = {},
): Buffer {
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  const objects: Buffer[] = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
    ...pages.flatMap((page, index) => [
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R ` +
          `/Resources << /Font << /F1 3 0 R >> ${resources} >> >>`,
      ),
      contentOf(page),
    ]),
    ...more,
  ];
  return assembled(objects);
}

function contentOf({ words = [], content, filter }: PdfPage): Buffer {
  if (content !== undefined) return streamOf(content, filter);
  const lines = words.map((line) => `(${line.replaceAll(/[()\\]/g, "\\$&")}) Tj 0 -14 Td`).join("\n");
  const text = Buffer.from(`BT /F1 12 Tf 72 720 Td\n${lines}\nET`);
  return streamOf(deflateSync(text), "/FlateDecode");
}

export function streamOf(content: Buffer, filter?: string, keys = ""): Buffer {
  const filtered = filter === undefined ? "" : `/Filter ${filter} `;
  return Buffer.concat([
    Buffer.from(`<< ${keys} ${filtered}/Length ${content.length} >>\nstream\n`),
    content,
    Buffer.from("\nendstream"),
  ]);
}

function assembled(objects: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.7\n")];
  const offsets: number[] = [];
  let size = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const written = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]);
    offsets.push(size);
    parts.push(written);
    size += written.length;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  const table = `xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${size}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(table)]);
}
