// The official MCP client, unmodified, against the memory that Loci serves: started as a program, and over HTTP.
// LOCI names the binary. The home and the daemon are its own and go at the end.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { started } from './daemon.mjs';

const token = 'sesame-and-more';
let daemon, address, env, loci;

const said = (result) => result.content.map((part) => part.text).join('');

before(async () => {
  daemon = await started({ LOCI_TOKEN: token, LOCI_MCP_AGENTS: 'Ada' });
  ({ address, env, loci } = daemon);
  loci('agents', 'create', 'Ada', '--model', 'offline/loci');
  loci('agents', 'create', 'Eve', '--model', 'offline/loci');
});

after(() => daemon.end());

async function connected(name, transport, use) {
  const client = new Client({ name, version: '1.0.0' });
  await client.connect(transport);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

// talk does what a program does with the memory of an agent.
async function talk(client, fact) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(), ['ask_agent', 'conversation_search', 'memory_blocks', 'memory_search', 'remember']);
  for (const tool of tools) assert.equal(tool.inputSchema.type, 'object');
  const call = (name, args) => client.callTool({ name, arguments: args });
  assert.equal(said(await call('remember', { text: fact, tags: ['test'] })), 'Ada will remember it.');
  assert.match(said(await call('memory_search', { query: fact.split(' ')[1], tags: ['test'] })), new RegExp(fact));
  assert.match(said(await call('memory_blocks', {})), /## human/);
  const progress = [];
  const answer = await client.callTool({ name: 'ask_agent', arguments: { message: 'My name is Grace' } }, undefined, {
    onprogress: (p) => progress.push(p),
  });
  assert.ok(!answer.isError && said(answer).length > 0, JSON.stringify(answer));
  const refused = await call('memory_blocks', { agent: 'Eve' });
  assert.ok(refused.isError && /is offered here/.test(said(refused)), JSON.stringify(refused));
}

test('a program that is started', async () => {
  const transport = new StdioClientTransport({ command: process.env.LOCI, args: ['mcp', 'serve', 'Ada'], env });
  await connected('Claude Code', transport, (client) => talk(client, 'The kettle is new'));
  assert.match(loci('archival', 'search', 'kettle', '--agent', 'Ada', '--tag', 'mcp:claude-code'), /kettle/);
});

test('over HTTP, with the token only', async () => {
  const url = new URL('/mcp', address);
  await assert.rejects(connected('crush', new StreamableHTTPClientTransport(url), () => {}));
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await connected('crush', new StreamableHTTPClientTransport(url, { requestInit }), (client) => talk(client, 'The lamp is red'));
  assert.match(loci('archival', 'search', 'lamp', '--agent', 'Ada', '--tag', 'mcp:crush'), /lamp/);
});

test('what loci mcp config prints starts a server', async () => {
  const { loci: entry } = JSON.parse(loci('mcp', 'config', 'Ada', '--read-only')).mcpServers;
  await connected('x', new StdioClientTransport({ ...entry, env: { ...env, ...entry.env } }), async (client) => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name).sort(), ['conversation_search', 'memory_blocks', 'memory_search']);
  });
});
