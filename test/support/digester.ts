import type { Digester } from "../../src/store/compaction/extracts.ts";

/** A digest that names its sources. */
export const TEST_DIGESTER: Digester = {
  async ofEntries(entries) {
    const said = entries.filter(({ deleted }) => !deleted).map(({ text }) => text);
    return { text: `digest of ${said.length} entries: ${said.join(" | ")}`, tokens: 20 };
  },
  ofTexts: async (texts) => ({
    text: `digest of ${texts.length} summaries: ${texts.join(" | ")}`,
    tokens: 20,
  }),
};
