// A server on the TypeScript SDK 2.x: node ts_v2.mjs stdio | http PORT [modern-only]
// It offers what every program in this folder offers: the names are in tests/real_servers/catalogue.py.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, inputRequired, inputResponse, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [transport, port, mode] = process.argv.slice(2);
const said = (text) => ({ content: [{ type: 'text', text }] });
let announce = (server) => server.server.sendToolListChanged();

function makeServer() {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool(
    'repeat',
    { description: 'Repeat a word.', inputSchema: z.object({ word: z.string(), times: z.number().int() }) },
    ({ word, times }) => said(word.repeat(times)),
  );
  server.registerTool(
    'count',
    { description: 'Count to a number, and say so at each step.', inputSchema: z.object({ to: z.number().int() }) },
    async ({ to }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: to } });
      }
      return said(`counted to ${to}`);
    },
  );
  server.registerTool('greet_me', { description: 'Ask for a name and greet it.' }, (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'name');
    if (answer.kind === 'elicit' && ctx.mcpReq.requestState() === 'asked') {
      return said(answer.action === 'accept' ? `Hello ${answer.content.name}` : `Nobody: ${answer.action}`);
    }
    const requestedSchema = z.object({ name: z.string() });
    const name = inputRequired.elicit({ message: 'What is your name?', requestedSchema });
    return inputRequired({ inputRequests: { name }, requestState: 'asked' });
  });
  server.registerTool('announce', { description: 'Say that the list of tools has changed.' }, async () => {
    await announce(server);
    return said('announced');
  });
  server.registerResource('text', 'fixed://text', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'A text that never changes.' }],
  }));
  const squares = new ResourceTemplate('square://{number}', { list: undefined });
  server.registerResource('square', squares, {}, (uri, { number }) => ({
    contents: [{ uri: uri.href, text: String(number ** 2) }],
  }));
  const argsSchema = z.object({ name: z.string() });
  server.registerPrompt('compliment', { description: 'Ask for a compliment.', argsSchema }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Say something nice to ${name}.` } }],
  }));
  return server;
}

if (transport === 'http') {
  const served = createMcpHandler(makeServer, { legacy: mode === 'modern-only' ? 'reject' : 'stateless' });
  announce = () => served.notify.toolsChanged(); // on HTTP each request has a server of its own
  const handler = toNodeHandler(served);
  createServer((request, response) => {
    if (new URL(request.url, 'http://localhost').pathname === '/mcp') return handler(request, response);
    response.writeHead(404).end();
  }).listen(Number(port), '127.0.0.1');
} else {
  serveStdio(makeServer);
}
