// The official MCP client, unmodified, against the memory that Loci serves: started as a program, and over HTTP.
// LOCI names the binary. The home and the daemon are its own and go at the end.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const token = 'sesame-and-more';
let home, env, daemon, address;

const loci = (...args) => execFileSync(process.env.LOCI, args, { env, encoding: 'utf8' });
const said = (result) => result.content.map((part) => part.text).join('');

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'loci-mcp-'));
  env = { PATH: process.env.PATH, HOME: home, LOCI_HOME: home, LOCI_TOKEN: token, LOCI_MCP_AGENTS: 'Ada' };
  daemon = spawn(process.env.LOCI, ['daemon', 'run', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  address = await new Promise((found, failed) => {
    daemon.stderr.on('data', (part) => {
      told += part;
      const at = /listening on (http:\S+\d)/.exec(told);
      if (at) found(at[1]);
    });
    daemon.on('exit', () => failed(new Error(`the daemon has ended: ${told}`)));
  });
  loci('agents', 'create', 'Ada', '--model', 'offline/loci');
  loci('agents', 'create', 'Eve', '--model', 'offline/loci');
});

after(async () => {
  daemon.kill();
  if (daemon.exitCode === null) await once(daemon, 'exit');
  await rm(home, { recursive: true, force: true });
});

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
