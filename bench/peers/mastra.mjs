import { Agent } from "@mastra/core/agent";
import { Memory } from "@mastra/memory";
import { PostgresStore } from "@mastra/pg";

/** An agent with Observational Memory, which has its defaults besides its model. */
export async function open({ databaseUrl, modelUrl, instructions, arms }) {
  const storage = new PostgresStore({ id: "bench", connectionString: databaseUrl });
  await storage.init();
  const modelOf = (model) => ({ id: `bench/${model}`, url: modelUrl, apiKey: "none" });
  const agents = new Map(
    arms.map(({ id, model, summariser }) => {
      const memory = new Memory({
        storage,
        options: { observationalMemory: { model: modelOf(summariser) } },
      });
      return [
        id,
        { memory, agent: new Agent({ id, name: id, instructions, model: modelOf(model), memory }) },
      ];
    }),
  );
  return {
    async ask(arm, room, text) {
      const thread = `${arm}/${room}`;
      const { text: answer } = await agents
        .get(arm)
        .agent.generate(text, { memory: { thread, resource: thread } });
      return answer.length > 0;
    },
    async history(arm, room) {
      const thread = `${arm}/${room}`;
      const { messages } = await agents.get(arm).memory.recall({ threadId: thread, resourceId: thread });
      const textOf = ({ content }) => content.parts.map((part) => part.text ?? "").join("");
      return messages.map((one) => ({ role: one.role, text: textOf(one) }));
    },
  };
}
