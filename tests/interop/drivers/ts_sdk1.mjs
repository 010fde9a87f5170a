// The official TypeScript client, version 1, which only knows the handshake. Argument: the target, a URL or `stdio:`
// and a command as a JSON array.
// The steps are those of steps.py. It has to lie beside the node_modules it needs, and is copied there.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

function report(step, ok, detail) {
  console.log(JSON.stringify({ step, ok, detail }));
}

async function check(step, ask, expected) {
  try {
    const result = await ask();
    report(step, Boolean(expected(result)), result);
  } catch (error) {
    report(step, false, String(error));
  }
}

async function checkRefusal(step, ask) {
  try {
    const result = await ask();
    report(step, result.isError === true, result);
  } catch (error) {
    report(step, Number.isInteger(error.code), { code: error.code, message: error.message });
  }
}

async function use(client) {
  const named = (kind, name) => (result) => result[kind].some((item) => item.name === name);
  await check('list tools', () => client.listTools(), named('tools', 'repeat'));
  await check(
    'call tool',
    () => client.callTool({ name: 'repeat', arguments: { word: '北京 é ', times: 2 } }),
    (result) => !result.isError && result.content[0].text === '北京 é 北京 é ',
  );
  await check(
    'structured content',
    () => client.callTool({ name: 'measure', arguments: { width: 2, height: 0.5 } }),
    ({ structuredContent }) => structuredContent.area === 1 && structuredContent.unit === 'm2',
  );
  const seen = [];
  const onprogress = ({ progress }) => seen.push(progress);
  await check(
    'progress',
    () => client.callTool({ name: 'count', arguments: { to: 3 } }, undefined, { onprogress }),
    (result) => result.content[0].text === '3' && seen.join() === '1,2,3',
  );
  await check(
    'list resources',
    () => client.listResources(),
    ({ resources }) => resources.length === 1 && resources[0].uri === 'test://static-text',
  );
  await check(
    'read resource',
    () => client.readResource({ uri: 'test://static-text' }),
    (result) => result.contents[0].text === 'A text that never changes.',
  );
  await check('list prompts', () => client.listPrompts(), named('prompts', 'greet'));
  await check(
    'get prompt',
    () => client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } }),
    (result) => result.messages[0].content.text === 'Say hello to Ada.',
  );
  await checkRefusal('unknown tool', () => client.callTool({ name: 'no_such_tool', arguments: {} }));
}

const client = new Client({ name: 'mcp-wsgi-tests', version: '1.0.0' }, { capabilities: {} });
const target = process.argv[2];
const overStdio = target.startsWith('stdio:');
function open() {
  if (!overStdio) return new StreamableHTTPClientTransport(new URL(target));
  const [command, ...args] = JSON.parse(target.slice('stdio:'.length));
  return new StdioClientTransport({ command, args });
}
const transport = open();
// This transport does not keep the version, but is told it once it is agreed on.
if (overStdio) transport.setProtocolVersion = (version) => (transport.protocolVersion = version);
try {
  await client.connect(transport);
  // Over stdio all that one read brings is handed on at once, and with an answer the client forgets what it has not
  // told yet of the progress before it. So each message waits for what the one before it has begun.
  const take = transport.onmessage;
  let before = Promise.resolve();
  transport.onmessage = (message, extra) => (before = before.then(() => take(message, extra)));
  report('connect', true, transport.protocolVersion);
  await use(client);
  // close() only drops the connections; a client that is done says so to the server as well.
  if (!overStdio) await transport.terminateSession();
  await client.close();
  report('session', true, 'closed');
} catch (error) {
  report('session', false, String(error));
  process.exitCode = 1;
}
