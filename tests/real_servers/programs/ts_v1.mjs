// A server on the TypeScript SDK 1.x: node ts_v1.mjs PORT [stateless]
// It offers what every program in this folder offers: the names are in tests/real_servers/catalogue.py.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const [port, mode] = process.argv.slice(2);
const transports = new Map();
const said = (text) => ({ content: [{ type: 'text', text }] });

function makeServer() {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool(
    'repeat',
    { description: 'Repeat a word.', inputSchema: { word: z.string(), times: z.number().int() } },
    ({ word, times }) => said(word.repeat(times)),
  );
  server.registerTool(
    'count',
    { description: 'Count to a number, and say so at each step.', inputSchema: { to: z.number().int() } },
    async ({ to }, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: to } });
      }
      return said(`counted to ${to}`);
    },
  );
  server.registerTool('greet_me', { description: 'Ask for a name and greet it.' }, async (extra) => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const params = { mode: 'form', message: 'What is your name?', requestedSchema };
    const answer = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
    return said(answer.action === 'accept' ? `Hello ${answer.content.name}` : `Nobody: ${answer.action}`);
  });
  server.registerTool('announce', { description: 'Say that the list of tools has changed.' }, async () => {
    await server.server.sendToolListChanged();
    return said('announced');
  });
  server.registerResource('text', 'fixed://text', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'A text that never changes.' }],
  }));
  const squares = new ResourceTemplate('square://{number}', { list: undefined });
  server.registerResource('square', squares, {}, (uri, { number }) => ({
    contents: [{ uri: uri.href, text: String(number ** 2) }],
  }));
  server.registerPrompt('compliment', { description: 'Ask for a compliment.', argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Say something nice to ${name}.` } }],
  }));
  return server;
}

async function serve(request, response) {
  if (new URL(request.url, 'http://localhost').pathname !== '/mcp') {
    response.writeHead(404).end();
    return;
  }
  let transport = transports.get(request.headers['mcp-session-id']);
  if (transport === undefined) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: mode === 'stateless' ? undefined : randomUUID,
      onsessioninitialized: (id) => transports.set(id, transport),
      onsessionclosed: (id) => transports.delete(id),
    });
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response);
}

createServer(serve).listen(Number(port), '127.0.0.1');
