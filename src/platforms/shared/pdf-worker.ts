/** Reads the text layer of one PDF, in a thread of its own: a file can be made so that it never ends, or fills the memory. */
import { parentPort, workerData } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";
import { beginningWithin, estimateTokens } from "../../text/tokens.ts";
import type { PdfReading, PdfTask } from "./pdf.ts";

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;

/** Without warnings, fonts of the machine, and code made at run time. */
const OPTIONS = { verbosity: 0, useSystemFonts: false, disableFontFace: true, isEvalSupported: false };

async function read({ bytes, maxPages, maxTokens }: PdfTask): Promise<PdfReading> {
  let pdf: Document;
  try {
    pdf = await getDocumentProxy(bytes, OPTIONS);
  } catch (error) {
    return { kind: error instanceof Error && error.name === "PasswordException" ? "locked" : "damaged" };
  }
  const { numPages: pages } = pdf;
  const parts: string[] = [];
  let left = maxTokens;
  let shown = 0;
  let words = 0;
  let isDamaged = false;
  while (shown < Math.min(pages, maxPages) && left > 0) {
    shown++;
    const found = await textOfPage(pdf, shown);
    isDamaged ||= found === null;
    const text = found ?? "[damaged]";
    words += found?.length ?? 0;
    const part = pages > 1 ? `[page ${shown}]\n${text}` : text;
    const kept = beginningWithin(part, left);
    parts.push(kept === part ? part : `${kept}\n[… page ${shown} goes on]`);
    left -= estimateTokens(part, left) + 1;
  }
  if (words === 0 && isDamaged) return { kind: "damaged" };
  return words === 0 ? { kind: "wordless", pages } : { kind: "text", pages, shown, text: parts.join("\n") };
}

/** The words of a page, a line each; null: it is damaged. */
async function textOfPage(pdf: Document, number: number): Promise<string | null> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return items
      .map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : ""))
      .join("")
      .trim();
  } catch {
    return null;
  }
}

const task: PdfTask = workerData;
// A thread has no origin.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(await read(task));
