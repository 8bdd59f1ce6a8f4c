import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { startEdge } from '../../../support/edge.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'

const PASSWORD = 'of-this-test-alone'

/** The ACL lines of docs/redis.md. */
const documented = readFileSync('docs/redis.md', 'utf8')
  .split('\n')
  .filter((line) => /^user \w+ (?:on|off)/.test(line))

/** Returns config/redis.conf as arguments, with another ACL file. */
function settings(aclFile: string): string[] {
  const lines = readFileSync('config/redis.conf', 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [name = '', ...rest] = line.split(' ')
      return [`--${name}`, name === 'aclfile' ? aclFile : rest.join(' ').replaceAll('"', '')]
    })
}

t.test('the edge runs on a Redis with the documented settings and users', async (t) => {
  const folder = t.testdir({ password: `${PASSWORD}\n` })
  const aclFile = join(folder, 'users.acl')
  t.strictSame(
    documented.map((line) => line.split(' ').slice(0, 3).join(' ')),
    ['user edge on', 'user default off'],
  )
  // One more user for this test.
  const users = [
    ...documented.map((line) => line.replace('#$digest', `>${PASSWORD}`)),
    'user observer on nopass ~* &* +@all',
  ]
  writeFileSync(aclFile, `${users.join('\n')}\n`)
  const redis = await startRedis({ args: settings(aclFile) })
  t.teardown(() => redis.close())
  const client = (username?: string, password = PASSWORD) => {
    const made = new Redis({
      port: redis.port,
      host: '127.0.0.1',
      maxRetriesPerRequest: 0,
      ...(username && { username, password }),
    })
    made.on('error', () => undefined)
    t.teardown(() => made.disconnect())
    return made
  }
  const observer = client('observer')
  t.strictSame(await observer.config('GET', 'maxmemory-policy'), ['maxmemory-policy', 'volatile-lru'])

  const simulator = await startSimulator({ agents: 5, workers: 0, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const cache = {
    redis: { url: redis.url, username: 'edge', passwordFile: join(folder, 'password'), timeout: '1s' },
    ttl: { agents: '60s', rules: '60s' },
  }
  const start = async () => {
    const edge = await startEdge({ nodes: simulator.nodes, settings: { cache } })
    t.teardown(() => edge.close())
    return edge
  }
  const [one, other] = [await start(), await start()]
  const get = async (edge: typeof one, path: string, method = 'GET') => {
    const response = await fetch(edge.url + path, { method, headers: { authorization: edge.authorization('admin') } })
    await response.text()
    return `${response.status} ${response.headers.get('cache-status') ?? ''}`
  }
  // A new Redis is used after one lease (two seconds).
  await eventually(async () => {
    await get(one, '/rules?limit=3')
    return /^200 .*; hit/.test(await get(other, '/rules?limit=3'))
  })
  t.pass('one replica serves what the other stored')
  t.match(await get(one, '/agents/001/group/default', 'PUT'), /^200/)
  t.match(await get(one, '/cache', 'DELETE'), /^200/)
  t.notMatch(await get(other, '/rules?limit=3'), /; hit/)
  t.strictSame(await observer.call('ACL', 'LOG'), [], 'Redis denied nothing')

  await t.rejects(client().ping(), /NOAUTH/, 'other users cannot log in')
  const edge = client('edge')
  for (const words of [['KEYS', '*'], ['FLUSHALL'], ['CONFIG', 'GET', '*'], ['GET', 'other'], ['ACL', 'LIST']]) {
    const [name = '', ...rest] = words
    await t.rejects(edge.call(name, ...rest), /NOPERM/, `the edge may not ${words.join(' ')}`)
  }
  t.not(((await observer.call('ACL', 'LOG')) as unknown[]).length, 0, 'denied commands are in the log')
})
