import { z } from "zod";
import { option, table, whole } from "./values.ts";

const dollars = z.number().min(0).max(1_000_000).describe("dollars, 0 to 1000000");
const tokensADay = whole(0, 1_000_000_000_000, "tokens");

export const budget = table(
  "….budget",
  {
    tokens: option(
      tokensADay,
      0,
      "Tokens that this agent may use in a day, over all channels, read and written: answers, summaries and subagents. 0: no budget.",
    ),
    dollars: option(
      dollars,
      0,
      "The same in money, by the prices of the models (see [models]). 0: no budget.",
    ),
    channel_tokens: option(tokensADay, 0, "The same of each channel that it answers in."),
    channel_dollars: option(dollars, 0),
    person_tokens: option(tokensADay, 0, "The same of each person who asks it."),
    person_dollars: option(dollars, 0),
    warn_at: option(
      z.number().gt(0).lte(1).describe("a share of a budget: a number above 0, 1 at most"),
      0.8,
      "From this share of a budget on, the log and the channel are told, once a day.",
    ),
  },
  "What may be spent in a day, which begins at midnight in the agent's time_zone. Where nothing is left, an answer is refused in words; one that has begun is finished.",
);
