import { secretVariable } from "../../src/config/references.ts";
import { PLATFORM_ROWS } from "../../src/platforms/platforms.ts";

const HEAD = `# Copy this to .env and fill in what you use. Weir reads .env beside config.toml; what stands in the environment wins.
# Keep the copy to yourself: chmod 600 .env

# A model. Without one a built-in stand-in answers, and an Ollama on its usual port is found by itself.
# OPENAI_API_KEY=
# OPENAI_BASE_URL=http://127.0.0.1:8000/v1
`;

const REST = `# A Postgres of your own instead of the one that Weir keeps in ./data (docs/postgres.md)
# DATABASE_URL=postgres://user:password@host:5432/weir

# RabbitMQ, for several daemons on that Postgres: [cluster] in config.toml
# AMQP_URL=amqp://user:password@host:5672/weir

# What a client of [http] has to show, instead of a token that Weir makes (docs/watch.md)
# WEIR_HTTP_TOKEN=

# An HTTP proxy on the way out, and what goes without it (docs/install.md)
# HTTPS_PROXY=http://user:password@proxy.example:3128
# NO_PROXY=.internal.example,10.0.0.0/8

# A collector for spans, over OTLP/HTTP (docs/watch.md)
# OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
# OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20KEY
`;

/** The text of `.env.example`. Of a platform it names what `weir init` asks for. */
export function envExample(): string {
  const platforms = PLATFORM_ROWS.map(({ key, title, guide, questions }) => {
    const variables = questions.secrets.map(({ option }) => `# ${secretVariable(key, option)}=\n`);
    return `# ${title} (${guide})\n${variables.join("")}`;
  });
  return [HEAD, ...platforms, REST].join("\n");
}
