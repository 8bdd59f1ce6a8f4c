/** `manager-edge doctor` in front of servers that are right, and of servers with one mistake each. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { type ListenOptions, listen } from '../../../packages/simulator/src/listener.ts'
import type { Finding } from '../../../src/cli/output.ts'
import { installed } from '../../support/installed.ts'
import { startRedis } from '../../support/redis.ts'
import { configFolder } from './config.ts'
import { type ProgramOptions, result } from './program.ts'

const openssl = installed({ variable: 'OPENSSL', names: ['openssl'], package: 'openssl' })

async function doctor(t: Test, file: string, args: readonly string[] = [], options: ProgramOptions = {}) {
  const { code, out, err } = await result(t, ['doctor', '--config', file, '--json', ...args], options)
  t.match(out, /^\{/, err)
  const { findings } = JSON.parse(out) as { findings: readonly Finding[] }
  const find = (check: string) => findings.filter((each) => each.check === check)
  return { code, err, find, bad: findings.filter(({ status }) => status !== 'ok') }
}

interface Wish {
  readonly address?: string
  readonly days?: number
}

const folderOfCertificates = t.testdir()

/** A new CA. `sign` returns the files of a certificate that it has signed. */
function createAuthority(name: string) {
  const folder = folderOfCertificates
  const run = (...words: string[]) => execFileSync(openssl, words, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout']
  const ca = join(folder, `${name}.crt`)
  const caKey = join(folder, `${name}.key`)
  run('req', '-x509', ...key, caKey, '-subj', `/CN=${name}`, '-days', '90', '-out', ca)
  let count = 0
  const sign = ({ address = '127.0.0.1', days = 60 }: Wish = {}) => {
    const [request, cert, key_] = ['csr', 'crt', 'key'].map((end) => join(folder, `${name}-${count}.${end}`)) as [
      string,
      string,
      string,
    ]
    count++
    run('req', ...key, key_, '-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${address}`, '-out', request)
    const signer = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-copy_extensions', 'copy']
    run('x509', '-req', '-in', request, ...signer, '-days', `${days}`, '-out', cert)
    return { cert, key: key_ }
  }
  return { ca, sign }
}

type Files = ReturnType<ReturnType<typeof createAuthority>['sign']>

function contentOf({ cert, key }: Files) {
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
}

t.test('a set-up without mistakes, with TLS to the nodes, to Redis and for clients', async (t) => {
  const { ca, sign } = createAuthority('ca')
  const [node, own, ofRedis] = [sign(), sign(), sign()]
  const { simulator, file, write, createKey } = await configFolder(t, { tls: contentOf(node) })
  await createKey()
  const port = await freePort()
  const files = ['--tls-cert-file', ofRedis.cert, '--tls-key-file', ofRedis.key, '--tls-ca-cert-file', ca]
  const redis = await startRedis({ args: ['--tls-port', `${port}`, ...files, '--tls-auth-clients', 'no'] })
  t.teardown(() => redis.close())
  const cache = { redis: { url: `rediss://127.0.0.1:${port}`, tls: { ca }, timeout: '1s' } }
  write({ tls: { ca } }, { listen: { port: 0, tls: own }, cache })

  const found = await doctor(t, file, ['--balancer', 'config/haproxy.cfg'])
  t.strictSame(found.bad, [])
  t.equal(found.code, 0, found.err)
  const servers = ['master', 'worker-1', 'redis']
  const checks = servers.flatMap((name) =>
    ['', ' name', ' certificate', ' round trip', ' clock'].map((end) => name + end),
  )
  for (const check of [...checks, 'listen.tls.cert', 'cluster.tls.ca', 'file descriptors', 'balancer']) {
    t.match(found.find(check), [{ status: 'ok' }], check)
  }
  const text = await result(t, ['doctor', '--config', file])
  t.equal(text.code, 0)
  t.match(text.out, /^ok {7}master: ok \(status 200\), v3 layout/m)
  t.notMatch(text.out, 'fix:')
  t.equal(text.err, '', 'no progress in a pipe')
  t.ok(simulator.nodes[0]?.url.startsWith('https:'))
})

t.test('nodes with wrong certificates, with another clock, without an address and without an answer', async (t) => {
  const { ca, sign } = createAuthority('nodes')
  const other = createAuthority('other')
  const { simulator, file, write, createKey } = await configFolder(t)
  await createKey()
  const hour = 3600 * 1000
  const start = async (options: ListenOptions, ahead = 0, answers = true) => {
    const server = await listen((_, response) => {
      response.setHeader('Date', new Date(Date.now() + ahead).toUTCString())
      if (answers) response.end('{}')
    }, options)
    t.teardown(() => server.shut())
    return server.url
  }
  const urls = {
    good: await start({ tls: contentOf(sign()) }),
    soon: await start({ tls: contentOf(sign({ days: 5 })) }),
    ended: await start({ tls: contentOf(sign({ days: -1 })) }),
    address: await start({ tls: contentOf(sign({ address: '127.0.0.9' })) }),
    authority: await start({ tls: contentOf(other.sign()) }),
    early: await start({}, hour),
    late: await start({}, -hour),
    refused: `http://127.0.0.1:${await freePort()}`,
    nameless: 'https://nowhere.invalid:55000',
  }
  const nodes = [
    ...simulator.nodes.filter(({ type }) => type === 'master'),
    ...Object.entries(urls).map(([name, url]) => ({ name, type: 'worker', url })),
  ].map(({ name, type, url }) => ({ name, type, url }))
  write({ nodes, tls: { ca }, discover: false, limits: { timeout: '1s' } })

  const { code, find } = await doctor(t, file)
  t.equal(code, 1)
  const openssl = (name: keyof typeof urls) =>
    `openssl s_client -connect ${new URL(urls[name]).host} -showcerts </dev/null`
  t.match(find('master'), [{ status: 'ok' }])
  t.match(find('good certificate'), [{ status: 'ok' }])
  t.match(find('soon certificate'), [{ status: 'warning', text: /^the certificate ends on 20/, fix: openssl('soon') }])
  t.match(find('ended certificate'), [
    { status: 'failed', text: /^the certificate ended on 20/, fix: /^renew it on 127/ },
  ])
  t.match(find('address certificate'), [
    { status: 'failed', text: 'the certificate is for IP Address:127.0.0.9, not for 127.0.0.1', fix: /cluster\.nodes/ },
  ])
  t.match(find('authority certificate'), [
    { status: 'failed', text: /does not trust .*UNABLE_TO_/, fix: /^set cluster\.tls\.ca to the file of the CA/ },
  ])
  for (const name of ['soon', 'ended', 'address', 'authority']) {
    t.match(find(`${name} clock`), [{ status: 'ok' }], 'the certificate does not matter')
  }
  t.match(find('early clock'), [{ status: 'warning', text: /^60 min ahead of the clock/, fix: /chronyc makestep$/ }])
  t.match(find('late clock'), [{ status: 'warning', text: /^60 min behind the clock/, fix: /chronyc makestep$/ }])
  t.match(find('refused round trip'), [{ status: 'failed', text: /ECONNREFUSED/, fix: `curl -kv ${urls.refused}` }])
  t.match(find('refused'), [{ status: 'failed', text: /^unreachable/, fix: /^check the address/ }])
  t.match(find('nameless name'), [
    { status: 'failed', text: /^nowhere\.invalid has no address/, fix: /getent hosts nowhere/ },
  ])
  t.match(find('nameless certificate'), [{ status: 'failed', text: /^no TLS connection: E/ }])

  const silent = await start({}, 0, false)
  const both = [...nodes.slice(0, 1), { name: 'silent', type: 'worker', url: silent }]
  write({ nodes: both, discover: false, limits: { timeout: '1s' } })
  t.match((await doctor(t, file)).find('silent round trip'), [
    { status: 'failed', text: /UND_ERR_HEADERS_TIMEOUT/, fix: `curl -kv ${silent}` },
  ])
})

t.test('a Redis whose user lacks a right, and one that ended', async (t) => {
  const { file, write, createKey } = await configFolder(t)
  await createKey()
  const redis = await startRedis()
  t.teardown(() => redis.close())
  await redis.client().acl('SETUSER', 'edge', 'on', '>only-for-tests', '~edge:*', '&edge:*', '+@all', '-hset')
  write({}, { cache: { redis: { url: redis.url, username: 'edge', timeout: '1s' } } })
  const env = { EDGE_CACHE_REDIS_PASSWORD: 'only-for-tests' }
  const denied = await doctor(t, file, [], { env })
  t.equal(denied.code, 1)
  t.match(denied.bad, [
    {
      check: 'redis',
      status: 'failed',
      text: 'the ACL of Redis denies the user edge the commands hset',
      fix: /^add \+hset /,
    },
  ])
  t.strictSame(denied.bad.slice(1), [])
  t.match(denied.find('redis clock'), [{ status: 'ok' }])

  await redis.kill()
  const ended = await doctor(t, file, [], { env })
  t.match(ended.bad, [{ check: 'redis', status: 'failed', text: 'Redis cannot be reached', fix: /ECONNREFUSED/ }])
})

t.test('own certificates and the limits of the machine', async (t) => {
  const { file, folder, write, createKey } = await configFolder(t)
  await createKey()
  const { sign } = createAuthority('own')
  write({}, { listen: { port: 0, tls: sign({ days: -1 }) }, operations: { port: 0, tls: sign({ days: 5 }) } })
  const prlimit = installed({ variable: 'PRLIMIT', names: ['prlimit'], package: 'util-linux' })
  const balancer = join(folder, 'nginx.conf')
  writeFileSync(balancer, 'location / {\n  proxy_pass http://edge;\n  proxy_read_timeout 5s;\n}\n')
  const limited = { executable: prlimit, node: ['--nofile=1024:1024', process.execPath] }
  const { code, err, bad } = await doctor(t, file, ['--balancer', balancer], limited)
  t.equal(code, 1)
  t.match(err, /^4 of \d+ findings are not good/m)
  t.match(bad, [
    { check: 'listen.tls.cert', status: 'failed', text: /^the certificate ended on/, fix: /^replace the file/ },
    { check: 'operations.tls.cert', status: 'warning', text: /^the certificate ends on/, fix: /^replace the file/ },
    { check: 'file descriptors', status: 'warning', text: /^at most 1024 /, fix: /LimitNOFILE=65536/ },
    { check: 'balancer', status: 'failed', fix: `in ${balancer}:3: proxy_read_timeout 144s;` },
  ])
  const text = await result(t, ['doctor', '--config', file])
  t.match(text.out, /^failed {3}listen\.tls\.cert: .*\n {9}fix: replace the file in listen\.tls\.cert; /m)
})

t.test('exit codes of mistakes in the settings, in files that they name and in options', async (t) => {
  const { file, folder, write, createKey } = await configFolder(t)
  const run = (...args: string[]) => result(t, ['doctor', '--config', file, ...args])
  const settings = await run()
  t.equal(settings.code, 2)
  t.match(settings.err, 'access.tokens.keys')
  await createKey()
  const option = await run('--balancer', join(folder, 'nothing'))
  t.equal(option.code, 1)
  t.match(option.err, /nothing cannot be read \(ENOENT\)/)
  writeFileSync(join(folder, 'users'), 'no hash')
  write()
  const started = await run('--json')
  t.equal(started.code, 1)
  t.match(JSON.parse(started.out), { findings: [{ check: 'start', status: 'failed' }] })
})
