import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DCLinter } from 'dclint'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { installed } from '../../support/installed.ts'

interface Fault {
  readonly rule: string
  readonly message: string
}

const file = 'config/compose.yaml'
const text = readFileSync(file, 'utf8')
/** The comment at the top of the file, which lists the files that an operator creates. */
const head = text.slice(0, text.indexOf('\n\n'))
const { services, secrets, networks } = parse(text, { merge: true })
/** The files of the folder `edge`, which is mounted as /etc/edge. */
const configFiles = [...head.matchAll(/^# {3}edge\/(\S+)/gm)].map(([, name = '']) => name)
/** The services by name. A missing member fails the test that reads it. */
const all = Object.entries<ReturnType<typeof parse>>(services)

/** Returns the mounts of a service as pairs of host path and container path, secrets included. */
function mounts({ volumes, secrets: named = [] }: ReturnType<typeof parse>): [from: string, to: string][] {
  return [
    ...volumes.map((volume: string) => volume.split(':').slice(0, 2)),
    ...named.map((name: string) => [secrets[name].file, `/run/secrets/${name}`]),
  ]
}

t.test('the file follows the schema of the Compose specification and the rules of a linter', async (t) => {
  const faults = (path: string) =>
    // The order of keys cannot be kept beside a merged mapping.
    new DCLinter({ rules: { 'service-keys-order': 0 }, quiet: true, debug: false, exclude: [] })
      .lintFiles([path], false)
      .flatMap(({ messages }: { readonly messages: readonly Fault[] }) => messages)
      .map(({ rule, message }: Fault) => `${rule}: ${message}`)
  t.strictSame(faults(file), [])
  const planted = join(t.testdir({}), 'compose.yaml')
  writeFileSync(planted, text.replace('cap_drop', 'cap_dropp'))
  t.match(faults(planted), [/^invalid-schema: .*additional properties/], 'a planted fault is found')
})

t.test('Compose renders the file', (t) => {
  const folder = t.testdir({})
  mkdirSync(join(folder, 'config'))
  const copy = join(folder, 'config/compose.yaml')
  writeFileSync(copy, text)
  let rendered: string
  try {
    rendered = execFileSync('docker', ['compose', '-f', copy, 'config'], { encoding: 'utf8', stdio: 'pipe' })
  } catch {
    // The first version of the program, which is the one of Debian 12, has its name of the project as an option only.
    writeFileSync(copy, text.replace(/^name: (\S+)$/m, ''))
    const program = installed({ variable: 'DOCKER_COMPOSE', names: ['docker-compose'], package: 'docker-compose' })
    rendered = execFileSync(program, ['-f', copy, 'config'], { encoding: 'utf8', stdio: 'pipe' })
  }
  const { services: found } = parse(rendered)
  t.strictSame(Object.keys(found).sort(), Object.keys(services).sort())
  for (const name of ['edge-1', 'edge-2'])
    t.match(found[name], { command: services[name].command, read_only: true, environment: services[name].environment })
  t.end()
})

t.test(
  'every mounted file, network and service exists, or the comment at the top tells the operator to create it',
  async (t) => {
    for (const [name, service] of all) {
      for (const [from] of mounts(service)) {
        const own = from.replace('./', '')
        t.ok(
          existsSync(join('config', own)) || head.includes(` ${own}`) || head.includes(`\`${own}\``),
          `${name}: ${from}`,
        )
      }
      for (const network of service.networks) t.ok(networks[network], `${name}: network ${network}`)
      for (const other of service.depends_on ?? []) t.ok(services[other], `${name}: service ${other}`)
    }
    const used = new Set(all.flatMap(([, { secrets: named = [] }]) => named))
    t.strictSame([...used].sort(), Object.keys(secrets).sort(), 'every declared secret is used')
  },
)

t.test('files that the operator creates are part of no image and of no repository', (t) => {
  const own = [...text.matchAll(/^ +(?:- |file: )\.\/([\w-]+)(?=[/:])/gm)].map(([, name = '']) => name)
  const folders = [...new Set(own)].filter((name) => !existsSync(join('config', name)))
  t.strictSame(folders.sort(), ['edge', 'secrets'])
  const [docker = [], git = []] = ['.dockerignore', '.gitignore'].map((list) => readFileSync(list, 'utf8').split('\n'))
  for (const folder of folders) {
    t.ok(docker.indexOf(`config/${folder}`) > docker.indexOf('!config'), folder)
    t.ok(git.includes(`/config/${folder}/`), folder)
  }
  t.end()
})

t.test(
  'each service runs without privileges, with a read-only file system, and only the balancer has a public port',
  async (t) => {
    for (const [name, service] of all) {
      t.match(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name)
      t.equal(service.restart, 'unless-stopped', name)
      t.notOk(service.privileged ?? service.network_mode ?? service.cap_add, name)
      if (service.build === undefined) t.match(service.image, /^[a-z]+:\d+\.\d+$/, `${name} has a version`)
      for (const volume of service.volumes) t.match(volume, /:ro$/, `${name} cannot change ${volume}`)
      for (const [key, value] of Object.entries(service.environment ?? {}))
        t.ok(
          !/PASSWORD|KEY/.test(key) || String(value).startsWith('/run/secrets/'),
          `${name}: ${key} contains no secret`,
        )
    }
    const published = all.flatMap(([name, { ports = [] }]) => ports.map((port: string) => `${name} ${port}`))
    const operations = ['edge-1 127.0.0.1:55001:55001', 'edge-2 127.0.0.1:55002:55001']
    t.strictSame(
      published,
      ['balancer 127.0.0.1:8404:8404', 'balancer 0.0.0.0:55000:55000', ...operations],
      'only the balancer is reachable from other machines; its statistics, console and metrics from this one',
    )
    const { operations: listener } = parse(readFileSync('config/edge.example.yaml', 'utf8'))
    t.match(listener, { host: '0.0.0.0', port: 55001 }, 'the example serves them on the published port')
    const { drain } = parse(readFileSync('config/default.yaml', 'utf8')).listen
    t.ok(Number.parseInt(services['edge-1'].stop_grace_period, 10) > Number.parseInt(drain.limit, 10))
    t.match(readFileSync('config/haproxy.cfg', 'utf8'), /^ {4}bind :55000$/m)
  },
)

t.test('a replica accepts its configuration with exactly the mounted files', async (t) => {
  const place = t.testdir({})
  const { environment, command } = services['edge-1']
  t.strictSame({ ...services['edge-2'], ports: [] }, { ...services['edge-1'], ports: [] })
  const inside = (path: string) => path.replaceAll(/\/(?:etc\/edge|run\/secrets)\//g, (folder) => join(place, folder))
  const settings = parse(readFileSync('config/edge.example.yaml', 'utf8'))
  // The changes that the comment at the top of the file describes.
  delete settings.cache
  settings.listen.tls = 'off'
  settings.operations.tls = 'off'
  settings.listen.trustedProxies = [networks.edge.ipam.config[0].subnet]
  mkdirSync(inside('/etc/edge/keys'), { recursive: true })
  mkdirSync(inside('/run/secrets/'), { recursive: true })
  for (const [, to] of mounts(services['edge-1'])) {
    if (to !== '/etc/edge') writeFileSync(inside(to), to.endsWith('/cache') ? 'k'.repeat(44) : 'a-secret-of-its-own\n')
  }
  for (const name of configFiles) {
    if (name === 'keys/') await createKeyFile(inside(`/etc/edge/${name}`))
    else if (name.endsWith('.crt')) copyFileSync('test/support/certificates/first.crt', inside(`/etc/edge/${name}`))
    else writeFileSync(inside(`/etc/edge/${name}`), 'not read by this test\n')
  }
  const path = inside(command.at(-1))
  writeFileSync(path, inside(stringify(settings)))
  const env = Object.fromEntries(Object.entries<string>(environment).map(([key, value]) => [key, inside(value)]))
  const loaded = await loadConfig({ file: path, env })
  t.strictSame(loaded.ok ? [] : loaded.faults, [])
  t.match(loaded.ok && loaded.config.cache.redis, { url: 'redis://redis:6379', username: 'edge' })
  const wrong = await loadConfig({ file: path, env: { ...env, EDGE_CACHE_REDIS_URI: 'x' } })
  t.equal(wrong.ok, false, 'an unknown setting is a fault')
})
