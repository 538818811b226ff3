import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import { Indexer } from "./indexer.ts";
import type { Meaning } from "./meaning.ts";

/**
 * Opens the indexes of earlier texts: of their words and, where an embedding model is configured, their vectors. Without a
 * model, the code for vectors is not loaded.
 * @param parts.lookUpWithinMs longest wait for a search by meaning, ms
 */
export async function openIndexes(
  parts: { readonly config: Config; readonly log: Logger; readonly lookUpWithinMs?: number | undefined },
  { search, vectors, modelCalls }: Store,
  stack: AsyncDisposableStack,
): Promise<{
  readonly indexer: Indexer;
  readonly meaning: Meaning | null;
  readonly startIndexing: () => Promise<void>;
}> {
  const { config, log, lookUpWithinMs } = parts;
  const indexer = stack.use(new Indexer(search, log));
  if (config.llm.embeddings === null) {
    return { indexer, meaning: null, startIndexing: async () => indexer.start() };
  }
  const [{ createEmbeddings }, { BilledEmbeddings }, { Meaning: MeaningSearch }, { VectorFiller }] =
    await Promise.all([
      import("../llm/embeddings.ts"),
      import("./billed-embeddings.ts"),
      import("./meaning.ts"),
      import("./vector-filler.ts"),
    ]);
  const asked = createEmbeddings(config.llm.embeddings);
  const embeddings = stack.use(new BilledEmbeddings({ embeddings: asked, calls: modelCalls, log }));
  const meaning = new MeaningSearch({ embeddings, vectors, log, withinMs: lookUpWithinMs });
  const filler = stack.use(new VectorFiller({ vectors, embeddings, meaning, log }));
  const startIndexing = async (): Promise<void> => {
    await indexer.start();
    filler.start();
  };
  return { indexer, meaning, startIndexing };
}
