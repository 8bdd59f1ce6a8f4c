/** A plugin of the operations listener: its routes need a sign-in, and see the edge as the console does. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { simulated } from '../../support/simulated.ts'
import { pluginFolder } from './folder.ts'

const SOURCE = `
export default async function (app, { edge, team }) {
  app.addHook('onSend', async (request, reply) => { reply.header('x-team', team.names[0]) })
  app.get('/nodes', async ({ caller }) => ({ caller: caller.name, nodes: edge.cluster.nodes().map(({ name }) => name) }))
  app.get('/fails', async () => { throw new Error('a fault of the plugin') })
  const properties = { page: { type: 'integer' }, mail: { type: 'string', format: 'email' } }
  app.get('/pages', { schema: { querystring: { type: 'object', properties } } }, async ({ query }) => query)
}`

t.test('routes of a plugin', async (t) => {
  const folder = await pluginFolder(t)
  await writeFile(join(folder, 'team.mjs'), SOURCE)
  const plugin = { file: join(folder, 'team.mjs'), options: { prefix: '/team', team: { names: ['soc'] } } }
  const { edge } = await simulated(t, { workers: 1, agents: 3 }, { settings: { plugins: [plugin] } })
  const get = (path: string, user?: string) =>
    fetch(`${edge.operationsUrl}${path}`, {
      headers: { accept: 'application/json', ...(user && { authorization: edge.authorization(user) }) },
    })
  t.equal((await get('/team/nodes')).status, 401)
  t.equal((await get('/team/nodes', 'reader')).status, 403, 'a caller without operations:read')
  const nodes = await get('/team/nodes', 'operator')
  t.strictSame(await nodes.json(), { caller: 'operator', nodes: ['master', 'worker-1'] })
  t.equal(nodes.headers.get('x-team'), 'soc', 'options have values of any depth')
  t.equal(nodes.headers.get('x-content-type-options'), 'nosniff')

  const page = await get('/team/pages?page=2&mail=a@b.example', 'operator')
  t.strictSame(await page.json(), { page: 2, mail: 'a@b.example' }, 'schemas are those of Fastify, with its formats')
  t.equal((await get('/team/pages?page=x', 'operator')).status, 400)

  const failed = await get('/team/fails', 'operator')
  t.equal(failed.status, 500)
  t.match(await failed.json(), { error: 949 })
  t.ok(edge.logged.some((line) => line.includes('a fault of the plugin')))
  const own = await get('/api/me', 'operator')
  t.equal(own.status, 200, 'other routes are served')
  t.equal(own.headers.get('x-team'), null, 'hooks of a plugin are for its own routes')
})
