import { createServer } from 'node:http'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import { BodyBudget } from '../../../src/http/body-budget.ts'
import { createHttp } from '../../../src/http/index.ts'
import { createChecks } from '../../../src/http/param-checks.ts'
import { v3Contract } from '../../../src/http/v3.ts'
import { defaultConfig } from '../../support/default-config.ts'

const logged: string[] = []
const log = pino(new Writable({ write: (line, _encoding, done) => done(void logged.push(String(line))) }))

t.test('an unexpected error is logged in full, and the client gets 949 without details', async (t) => {
  const settings = () => defaultConfig
  const { app } = await createHttp({
    contract: v3Contract(catalogue)(settings),
    handle: async () => {
      throw new TypeError('a detail of the inside')
    },
    server: { serverFactory: (handler) => createServer(handler) },
    log,
    bodies: new BodyBudget(() => ({ upload: 1024, timeout: 1000 })),
    settings,
    clientAddress: () => ({ address: '127.0.0.1' }),
    managerVersion: () => undefined,
    authentication: async () => ({
      recall: () => undefined,
      countHit: () => true,
      charge: () => undefined,
      authenticate: async () => ({ name: 'admin', permissions: ['*'] }),
    }),
  })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const response = await fetch(`${url}/agents`)
  t.equal(response.status, 500)
  t.strictSame(await response.json(), { error: 949, message: 'Internal error' })
  const line = logged.map((text) => JSON.parse(text)).find(({ code }) => code === 949)
  t.match(line, { msg: 'Internal error', err: { type: 'TypeError', message: 'a detail of the inside', stack: String } })
  t.equal(line?.reqId, response.headers.get('x-request-id'), 'found by the id that the client has')

  const undecodable = await fetch(`${url}/agents/%zz`)
  t.match(Object.fromEntries(undecodable.headers), { 'x-request-id': String, 'cache-control': 'no-store' })
  t.match(await undecodable.json(), { error: 614, message: /The path cannot be decoded/ })
})

t.test('a configured prefix matches whole names only', async (t) => {
  const upgrade = catalogue.find(({ path }) => path === '/agents/:agent_id/upgrade')
  if (upgrade === undefined) throw new Error('no endpoint takes a repository')
  const check = createChecks(() => ({
    upgradeRepositories: ['files.example', 'other.example/wpk/'],
    packageFolders: [],
  }))
  const of = (wpk_repo: string) => () => check(upgrade, { params: {}, query: { wpk_repo } })
  for (const good of ['files.example', 'files.example/wpk/', 'other.example/wpk/', 'other.example/wpk/3.x/']) {
    t.doesNotThrow(of(good), good)
  }
  for (const bad of [
    'files.example.org/wpk/',
    'files.example:81/wpk/',
    'files.example-cdn.net/',
    'other.example/wpk',
    'other.example/wpk/../x',
  ]) {
    t.throws(
      of(bad),
      new EdgeError(608, '. Path invalid. Valid characters: a-z, A-Z, 0-9, ., _, -, :, /, \\.  Field: wpk_repo'),
      bad,
    )
  }
})
