import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, summarizationMiddleware } from "langchain";

/** The share of the window at which the middleware summarises; the trigger has no default. */
const TRIGGER = 0.8;

/** An agent of LangChain 1 on LangGraph: the checkpointer and the middleware with their defaults, besides the trigger, which has none. */
export async function open({ databaseUrl, modelUrl, instructions, window, arms }) {
  const checkpointer = PostgresSaver.fromConnString(databaseUrl);
  await checkpointer.setup();
  const modelOf = (model) => new ChatOpenAI({ model, apiKey: "none", configuration: { baseURL: modelUrl } });
  const agents = new Map(
    arms.map(({ id, model, summariser, summariserReads }) => {
      const middleware = summarizationMiddleware({
        model: modelOf(summariser),
        trigger: { tokens: Math.floor(window * TRIGGER) },
        ...(summariserReads !== undefined && { trimTokensToSummarize: summariserReads }),
      });
      const agent = { model: modelOf(model), tools: [], systemPrompt: instructions, checkpointer };
      return [id, createAgent({ ...agent, middleware: [middleware] })];
    }),
  );
  const configOf = (arm, room) => ({ configurable: { thread_id: `${arm}/${room}` } });
  return {
    async ask(arm, room, text) {
      const said = { messages: [{ role: "user", content: text }] };
      const { messages } = await agents.get(arm).invoke(said, configOf(arm, room));
      return messages.at(-1).text.length > 0;
    },
    async history(arm, room) {
      const tuple = await checkpointer.getTuple(configOf(arm, room));
      const messages = tuple?.checkpoint.channel_values.messages ?? [];
      return messages.map((one) => ({ role: one.type === "human" ? "user" : "assistant", text: one.text }));
    },
    async resume(arm, room) {
      await agents.get(arm).invoke(null, configOf(arm, room));
    },
  };
}
