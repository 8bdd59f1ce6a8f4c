/** The servers that are compared, each in a separate process on the same core. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { freePort } from '../../packages/simulator/src/free-port.ts'
import { runnableOf } from '../support/typescript/script.ts'
import { has, pinned } from './load.ts'
import { type BenchUser, basicOf, benchUsers } from './traffic.ts'

export interface Running {
  readonly name: string
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

export type Start = () => Promise<Running | string>

export interface Place {
  readonly folder: string
  /** The origin server, if any. */
  readonly origin: string
  /** The folder of another build of the edge. */
  readonly than?: string | undefined
}

export interface EdgeOptions {
  readonly tls?: boolean
  readonly redis?: string
  /** Absent: the default. */
  readonly redisTimeout?: '1s'
  /** Absent: with a cache, in this process if there is no Redis. */
  readonly isCacheOff?: boolean
  readonly log?: 'info' | 'silent'
  readonly audit?: boolean
  /** So many more users, and the load generator as a trusted proxy. */
  readonly users?: number
  /** Without metrics (servers/uncounted.mjs). */
  readonly uncounted?: boolean
  /** The build to run; absent: the build of this tree. */
  readonly build?: string
}

export const user: BenchUser = { name: 'bench', password: 'bench-password' }
export const basic = basicOf(user)

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const fixture = (name: string) => here(`../support/certificates/${name}`)
/** Starts one of the servers of this folder. */
const typescript = (file: string) => {
  const script = fileURLToPath(runnableOf(new URL(file, import.meta.url)))
  return ['node', ...process.execArgv, script]
}
export const certificate = { cert: fixture('first.crt'), key: fixture('first.key') }

/** Starts a process on core 0 and waits until it responds. */
export async function launch(name: string, command: readonly string[], url: string): Promise<Running> {
  const [file = '', ...args] = pinned(0, command)
  const child = spawn(file, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '' },
  })
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors = (errors + String(chunk)).slice(-2000)
  })
  const stop = () =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve()
      child.once('exit', () => resolve())
      child.kill('SIGTERM')
      setTimeout(() => child.kill('SIGKILL'), 3000).unref()
    })
  for (let turn = 0; turn < 300; turn++) {
    if (child.exitCode !== null) break
    if (await isResponding(url)) return { name, url, pid: child.pid ?? 0, stop }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await stop()
  throw new Error(`${name} does not respond: ${errors}`)
}

async function isResponding(url: string): Promise<boolean> {
  const { get } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  return new Promise((resolve) => {
    get(`${url}/`, { rejectUnauthorized: false }, (response) => {
      response.resume()
      resolve(true)
    }).on('error', () => resolve(false))
  })
}

export async function bare(tls = false): Promise<Running> {
  const port = await freePort()
  const pair = tls ? [certificate.cert, certificate.key] : []
  const command = [...typescript('./servers/bare.ts'), String(port), ...pair]
  return launch(tls ? 'node:https' : 'node:http', command, `${tls ? 'https' : 'http'}://127.0.0.1:${port}`)
}

/** Starts the whole edge, as in production, in front of the origin. */
export async function edge(
  { folder, origin }: Place,
  options: EdgeOptions = {},
): Promise<Running & { readonly operations: string }> {
  const [port, operations] = [await freePort(), await freePort()]
  const own = join(folder, `edge-${port}`)
  await mkdir(own)
  const users = benchUsers(options.users ?? 0)
  await writeFile(join(own, 'users'), await userLines(users), { mode: 0o600 })
  const settings = {
    listen: {
      host: '127.0.0.1',
      port,
      ...(options.tls && { tls: certificate }),
      ...(options.users && { trustedProxies: ['127.0.0.1/32'] }),
    },
    operations: { host: '127.0.0.1', port: operations },
    cluster: {
      discover: false,
      nodes: [{ name: 'master', type: 'master', url: origin }],
      credentials: { username: 'edge', password: 'bench' },
      tls: { required: false },
    },
    cache: {
      ttl: { agents: '1h' },
      ...(options.isCacheOff && { enabled: false }),
      ...(options.redis && { redis: { url: options.redis, tls: { required: false }, timeout: options.redisTimeout } }),
    },
    access: {
      users: 'users',
      roles: Object.fromEntries([user, ...users].map(({ name }) => [name, ['administrator']])),
      limits: { requestsPerSecond: 1_000_000 },
    },
    log: { level: options.log ?? 'info' },
    ...(options.audit && { audit: { file: join(own, 'audit') } }),
    // Without log and file there is no audit, which the settings must state.
    ...(options.log === 'silent' && !options.audit && { audit: { onFailure: 'log' } }),
  }
  await writeFile(join(own, 'edge.yaml'), stringify(settings))
  const uncounted = options.uncounted ? [`--import=${new URL('./servers/uncounted.mjs', import.meta.url).href}`] : []
  const build = resolve(options.build ?? here('../../dist'), 'cli.js')
  const command = ['node', ...uncounted, build, 'start', '--config', join(own, 'edge.yaml')]
  const { redis, tls, log, audit } = options
  const name = Object.entries({ Redis: redis, TLS: tls, [`log ${log}`]: log, audit, uncounted: options.uncounted })
    .flatMap(([word, given]) => (given ? [word] : []))
    .reduce((text, word) => `${text}, ${word}`, 'edge')
  const running = await launch(name, command, `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`)
  return { ...running, operations: `http://127.0.0.1:${operations}` }
}

/** Starts Fastify with `@fastify/http-proxy`: no authentication, no log. */
export async function httpProxy({ origin }: Place): Promise<Running> {
  const port = await freePort()
  const command = ['node', here('./servers/http-proxy.mjs'), String(port), origin]
  return launch('@fastify/http-proxy', command, `http://127.0.0.1:${port}`)
}

/**
 * Returns the lines of a users file. The further users have the cheapest hash: a benchmark verifies each password once a
 * minute at most, and the cost of a hash is not what it compares.
 */
async function userLines(users: readonly BenchUser[]): Promise<string> {
  const cheap = await hash(users[0]?.password ?? '', 4)
  return [`${user.name}:${await hash(user.password, 10)}`, ...users.map(({ name }) => `${name}:${cheap}`), ''].join(
    '\n',
  )
}

/** Starts nginx with proxy_cache and one worker, without passwords unless bcrypt is selected. */
export async function nginx(
  { folder, origin }: Place,
  options: { gzip?: boolean; bcrypt?: boolean; tls?: boolean; users?: number } = {},
): Promise<Running | string> {
  if (!has('nginx')) return 'nginx is not installed'
  const port = await freePort()
  const own = join(folder, `nginx-${port}`)
  await mkdir(own)
  const hashed = `${user.name}:${await hash(user.password, 10)}\n`
  await writeFile(join(own, 'users'), options.users ? apr1Lines(benchUsers(options.users)) : hashed)
  const lines = [
    `daemon off; worker_processes 1; pid ${own}/pid; error_log stderr crit;`,
    process.getuid?.() === 0 ? 'user root;' : '',
    'events { worker_connections 1024; }',
    'http { access_log off; keepalive_requests 1000000; types { application/json json; }',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${own}/${kind};`),
    `proxy_cache_path ${own}/cache keys_zone=edge:10m;`,
    options.gzip ? 'gzip on; gzip_comp_level 1; gzip_types application/json; gzip_proxied any;' : '',
    options.bcrypt || options.users ? `auth_basic bench; auth_basic_user_file ${own}/users;` : '',
    options.tls ? `ssl_certificate ${certificate.cert}; ssl_certificate_key ${certificate.key};` : '',
    `server { listen 127.0.0.1:${port}${options.tls ? ' ssl' : ''};`,
    `location / { proxy_pass ${origin}; proxy_cache edge; proxy_cache_valid 200 1h; } } }`,
  ]
  await writeFile(join(own, 'nginx.conf'), lines.join('\n'))
  const name = `nginx${options.gzip ? ', gzip 1' : ''}${options.bcrypt ? ', bcrypt' : ''}${options.users ? ', apr1' : ''}${options.tls ? ', TLS' : ''}`
  return launch(name, ['nginx', '-c', join(own, 'nginx.conf')], `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`)
}

/** Returns the lines of a password file as `htpasswd` writes them by default. */
function apr1Lines(users: readonly BenchUser[]): string {
  const input = users.map(({ password }) => password).join('\n')
  const hashes = spawnSync('openssl', ['passwd', '-apr1', '-stdin'], { input }).stdout.toString().split('\n')
  return users.map(({ name }, at) => `${name}:${hashes[at]}\n`).join('')
}

/** Starts Varnish. It would pass requests with passwords to the origin, so it ignores them. */
export async function varnish({ folder, origin }: Place): Promise<Running | string> {
  if (!has('varnishd')) return 'Varnish is not installed'
  const port = await freePort()
  const { hostname, port: originPort } = new URL(origin)
  const file = join(folder, 'bench.vcl')
  const backend = `backend default { .host = "${hostname}"; .port = "${originPort}"; }`
  await writeFile(file, `vcl 4.1;\n${backend}\nsub vcl_recv { unset req.http.Authorization; }\n`)
  const args = ['-F', '-j', 'none', '-n', join(folder, 'varnish'), '-a', `127.0.0.1:${port}`, '-s', 'malloc,64m']
  const command = ['varnishd', ...args, '-f', file]
  return launch('Varnish', command, `http://127.0.0.1:${port}`).catch((fault: Error) => fault.message)
}

/** Starts HAProxy with its cache and one thread. It ignores passwords, with which it would not use its cache. It stores responses of up to 1 MB. */
export async function haproxy({ folder, origin }: Place): Promise<Running | string> {
  if (!has('haproxy')) return 'HAProxy is not installed'
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  const lines = [
    'global\n nbthread 1',
    'defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s',
    'cache edge\n total-max-size 64\n max-object-size 1000000\n max-age 3600',
    `frontend bench\n bind 127.0.0.1:${port}\n default_backend origin`,
    'backend origin\n http-request del-header Authorization\n http-request cache-use edge\n http-response cache-store edge',
    ` server origin ${new URL(origin).host}`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  return launch('HAProxy', ['haproxy', '-db', '-f', file], `http://127.0.0.1:${port}`)
}
