// The official Letta client, unmodified, with tools of an MCP server that is written with the official SDK.
// LOCI names the binary. The home and the daemon are its own and go at the end.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Letta } from '@letta-ai/letta-client';
import { started } from './daemon.mjs';

const here = dirname(fileURLToPath(import.meta.url));
let daemon, address, loci, letta;

before(async () => {
  daemon = await started();
  ({ address, loci } = daemon);
  letta = new Letta({ baseURL: address, apiKey: 'none', maxRetries: 0 });
});

after(() => daemon.end());

test('a server is added, allowed by its person, used, changed and removed', async () => {
  const server = await letta.mcpServers.create({
    server_name: 'weather',
    config: { mcp_server_type: 'stdio', command: 'node', args: [join(here, 'weather.mjs')], env: { UNIT: 'C' } },
  });
  assert.match(server.id, /^mcp_server-/);
  assert.equal(server.server_name, 'weather');
  assert.equal(server.mcp_server_type, 'stdio');
  assert.notEqual(server.env.UNIT, 'C');
  assert.deepEqual(await letta.mcpServers.tools.list(server.id), []); // it may not see its own program yet
  await assert.rejects(letta.mcpServers.create({ server_name: 'weather', config: server }), (err) => err.status === 409);

  loci('mcp', 'allow', 'weather', '--read', here);
  const tools = await letta.mcpServers.tools.list(server.id);
  assert.deepEqual(tools.map((t) => t.name).sort(), ['forecast', 'weather_memory_insert']);
  const tool = tools.find((t) => t.name === 'forecast');
  assert.equal(tool.tool_type, 'external_mcp');
  assert.deepEqual(tool.tags, ['mcp:weather']);
  assert.equal(tool.metadata_.mcp.server_id, server.id);
  assert.equal((await letta.mcpServers.tools.retrieve(tool.id, { mcp_server_id: server.id })).name, 'forecast');

  const ran = await letta.mcpServers.tools.run(tool.id, { mcp_server_id: server.id, args: { city: 'Oslo' } });
  assert.equal(ran.status, 'success');
  assert.match(ran.func_return, /Oslo: 7 C/);
  const failed = await letta.mcpServers.tools.run(tool.id, { mcp_server_id: server.id, args: { city: 'Atlantis' } });
  assert.equal(failed.status, 'error');

  const agent = await letta.agents.create({ name: 'Ada', model: 'offline/loci', tool_ids: [tool.id] });
  const attached = await letta.agents.tools.list(agent.id);
  assert.ok((attached.items ?? attached).some((t) => t.id === tool.id));

  assert.deepEqual(await letta.mcpServers.refresh(server.id), { deleted: [], updated: [], added: [] });
  const renamed = await letta.mcpServers.update(server.id, {
    server_name: 'wind',
    config: { mcp_server_type: 'stdio', command: 'node', args: server.args, env: { UNIT: 'F' } },
  });
  assert.equal(renamed.server_name, 'wind');
  const again = await letta.mcpServers.tools.run(tool.id, { mcp_server_id: server.id, args: { city: 'Oslo' } });
  assert.match(again.func_return, /Oslo: 7 F/);
  assert.equal((await letta.mcpServers.list()).length, 1);
  assert.equal((await letta.mcpServers.retrieve(server.id)).server_name, 'wind');

  // The contract's older operations, which go by names.
  const older = async (method, path, sent) => {
    const said = await fetch(`${address}/v1/tools/mcp/servers${path}`, {
      method, headers: { 'content-type': 'application/json' }, body: sent && JSON.stringify(sent),
    });
    return { status: said.status, body: await said.json() };
  };
  assert.equal((await older('GET', '')).body.wind.command, 'node');
  assert.deepEqual((await older('GET', '/wind/tools')).body.map((t) => t.name).sort(), ['forecast', 'memory_insert']);
  assert.equal((await older('POST', '/wind/forecast')).body.id, tool.id);
  assert.match((await older('POST', '/wind/tools/forecast/execute', { args: { city: 'Oslo' } })).body.func_return, /Oslo: 7 F/);
  assert.deepEqual((await older('POST', '/wind/resync')).body, { deleted: [], updated: [], added: [] });
  const added = await older('PUT', '', { server_name: 'none', type: 'stdio', command: 'no-such-program', args: [] });
  assert.deepEqual(added.body.map((s) => s.server_name), ['none', 'wind']);
  assert.equal((await older('DELETE', '/none')).body.length, 1);
  assert.equal((await older('GET', '/none/tools')).status, 404);

  await letta.mcpServers.delete(server.id);
  assert.deepEqual(await letta.mcpServers.list(), []);
  const left = await letta.agents.tools.list(agent.id);
  assert.ok(!(left.items ?? left).some((t) => t.id === tool.id));
  await assert.rejects(letta.mcpServers.retrieve(server.id), (err) => err.status === 404);
});
