/** The first nginx block of docs/migration.md, with the addresses of the test. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { eventually } from '../../support/eventually.ts'
import { installed } from '../../support/installed.ts'
import { trialEdge } from './edge.ts'

const nginx = installed({ variable: 'NGINX', names: ['nginx'], package: 'nginx-light' })

t.test('nginx sends copies of reads to a trial, and its clients get the responses of the manager', async (t) => {
  const { simulator, edge, atManager, count } = await trialEdge(t)
  const [, documented] =
    /```nginx\n(location \/ \{\n {2}mirror .*?)```/s.exec(readFileSync('docs/migration.md', 'utf8')) ?? []
  if (documented === undefined) return t.fail('docs/migration.md has no block with mirror')
  const locations = documented
    .replace('https://master.example:55000', String(simulator.nodes[0]?.url))
    .replace('https://edge.example:55000', edge.url)
    .replace(/"Basic [^"]*"/, `"${edge.authorization('reader')}"`)
  const folder = t.testdir()
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {}
    http { access_log off; ${temporary.join(' ')} server { listen 127.0.0.1:${port}; ${locations} } }`,
  )
  const child = spawn(nginx, ['-c', file, '-e', join(folder, 'error.log')], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const headers = { authorization: `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}` }
  const send = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
  await eventually(() =>
    send('/version').then(
      () => true,
      () => false,
    ),
  )

  const body = await (await send('/agents?limit=2')).text()
  t.equal(body, (await atManager('/agents?limit=2')).body)
  await eventually(async () => (await count('agents', 'miss', 'none')) === 1)
  await (await send('/agents?limit=2')).text()
  await eventually(async () => (await count('agents', 'hit', 'same')) === 1)

  await (await send('/agents/groups/new', 'PUT')).text()
  await (await send('/agents?limit=2')).text()
  await eventually(async () => (await count('agents', 'hit', 'same')) === 2)
  t.equal(simulator.seen.filter(({ method }) => method === 'PUT').length, 1, 'the manager gets a write once')
  t.notOk(
    edge.logged.some((line) => line.includes('"method":"PUT"')),
    'and the edge gets no copy of it',
  )
})
