/** What a model reads of a PDF. The library that parses it is loaded by the worker alone, with the first PDF. */
import { Worker } from "node:worker_threads";
import PQueue from "p-queue";

export interface PdfTask {
  readonly bytes: Uint8Array;
  readonly maxPages: number;
  readonly maxTokens: number;
}

export type PdfReading =
  /** `shown`: the pages, from the first, whose words are in `text`, the last perhaps in part. */
  | { readonly kind: "text"; readonly pages: number; readonly shown: number; readonly text: string }
  /** No page that was read has words: they are pictures, or empty. */
  | { readonly kind: "wordless"; readonly pages: number }
  | { readonly kind: "locked" | "damaged" | "too slow" | "too large" };

/** Largest PDF that is fetched. */
export const MAX_PDF_BYTES = 20_000_000;
const MAX_PAGES = 100;
const MAX_TOKENS = 8000;
const LIMITS = {
  /** Longest reading, with the wait for those before it. */
  ms: 15_000,
  /** Most memory of the worker, bytes. */
  memory: 400_000_000,
};
/** How often the worker's memory is measured, ms. */
const MEASURED_EACH_MS = 25;
/** Two would take both cores of a small machine. */
const workers = new PQueue({ concurrency: 1 });

/** Does not throw. @param limits of tests */
export async function readPdf(bytes: Uint8Array, limits = LIMITS): Promise<PdfReading> {
  const late = AbortSignal.timeout(limits.ms);
  try {
    return await workers.add(async () => inWorker(bytes, limits, late), { signal: late });
  } catch {
    // The time was over before its turn came.
    return { kind: "too slow" };
  }
}

async function inWorker(
  bytes: Uint8Array,
  { memory }: typeof LIMITS,
  late: AbortSignal,
): Promise<PdfReading> {
  // A copy: small buffers share their memory with others.
  const own = new Uint8Array(bytes);
  const task: PdfTask = { bytes: own, maxPages: MAX_PAGES, maxTokens: MAX_TOKENS };
  const worker = new Worker(new URL("./pdf-worker.ts", import.meta.url), {
    workerData: task,
    transferList: [own.buffer],
    // Nothing of this process is the worker's to see, and nothing that a library prints is a line of the log.
    env: {},
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memory / 1_000_000) },
  });
  const { promise, resolve } = Promise.withResolvers<PdfReading>();
  const tooSlow = (): void => resolve({ kind: "too slow" });
  late.addEventListener("abort", tooSlow, { once: true });
  worker.once("message", resolve);
  worker.once("error", (error: NodeJS.ErrnoException) =>
    resolve({ kind: error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "too large" : "damaged" }),
  );
  worker.once("exit", () => resolve({ kind: "damaged" }));
  // Buffers stand outside of the heap, whose limit does not bound them.
  const measured = async (): Promise<void> => {
    if ((await usedBy(worker)) > memory) resolve({ kind: "too large" });
  };
  const measure = setInterval(() => void measured(), MEASURED_EACH_MS);
  try {
    return await promise;
  } finally {
    clearInterval(measure);
    late.removeEventListener("abort", tooSlow);
    await worker.terminate();
  }
}

/** Bytes of the heap and of buffers; 0 if the worker has ended. */
async function usedBy(worker: Worker): Promise<number> {
  try {
    const heap = await worker.getHeapStatistics();
    return heap.used_heap_size + heap.external_memory;
  } catch {
    return 0;
  }
}
