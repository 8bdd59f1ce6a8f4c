import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { result } from './program.ts'

const lasting = { ttl: { agents: '120s', rules: '120s' } }

t.test('warm accepts a password or a token, and refuses wrong options before any request', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings: { cache: lasting } })
  t.teardown(() => edge.close())
  const folder = t.testdir({
    urls: '/agents/001\n/agents/002\n',
    foreign: '/agents\nhttps://elsewhere.example/agents\n',
  })
  const from = ['--from', join(folder, 'urls')]
  const warm = (args: string[], input = '', url = edge.url) => result(t, ['warm', '--url', url, ...args], { input })

  const issued = await fetch(`${edge.url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: edge.authorization('reader') },
  })
  const { data } = (await issued.json()) as { data: { token: string } }
  writeFileSync(join(folder, 'token'), `${data.token}\n`, { mode: 0o600 })
  const byToken = await warm([...from, '--token-file', join(folder, 'token')])
  t.match(byToken.out, /^2 stored/, byToken.err)
  t.notMatch(byToken.out + byToken.err, data.token)

  const wrong = await warm([...from, '--user', 'reader'], 'wrong\n')
  t.equal(wrong.code, 1)
  t.match(wrong.err, 'the edge refuses the credentials (401)')
  const stranger = await warm(['--busiest', '3', '--user', 'nobody'], 'x\n')
  t.strictSame([stranger.code, stranger.err], [wrong.code, wrong.err])

  const usage: [string[], string | undefined, RegExp][] = [
    [[...from], undefined, /one of --user and --token-file/],
    [['--user', 'reader'], undefined, /one of --from and --busiest/],
    [[...from, '--busiest', '3', '--user', 'reader'], undefined, /one of --from and --busiest/],
    [[...from, '--user', 'reader'], edge.url.replace('//', '//reader:reader-pw@'), /--url contains a user name/],
    [[...from, '--user', 'reader'], 'ftp://x', /not an http or https URL/],
    [['--from', join(folder, 'foreign'), '--user', 'reader'], undefined, /foreign line 2: write a path/],
    [[...from, '--user', 'reader', '--concurrency', '0'], undefined, /from 1 to 64/],
    [
      [...from, '--user', 'reader', '--operations', `${edge.operationsUrl}/x`],
      undefined,
      /--operations must have no path/,
    ],
  ]
  for (const [args, url, says] of usage) {
    const refused = await warm(args, 'reader-pw\n', url)
    t.equal(refused.code, 2, args.join(' '))
    t.match(refused.err, says)
  }
  const nowhere = await warm(['--from', join(folder, 'nowhere'), '--user', 'reader'], 'reader-pw\n')
  t.equal(nowhere.code, 1)
  t.match(nowhere.err, 'cannot be read (ENOENT)')
  const blind = await warm([...from, '--user', 'reader', '--operations', edge.operationsUrl], 'reader-pw\n')
  t.equal(blind.code, 1)
  t.match(blind.err, 'GET /api/nodes of the operations listener has status 403; it needs operations:read')
  const closed = await warm(['--busiest', '1', '--user', 'reader'], 'reader-pw\n', 'http://127.0.0.1:1')
  t.equal(closed.code, 1)
  t.match(closed.err, 'http://127.0.0.1:1 cannot be reached')
})
