import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DCLinter } from 'dclint'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { loadConfig } from '../../../src/config/index.ts'

interface Fault {
  readonly rule: string
  readonly message: string
}

const file = 'config/compose.yaml'
const text = readFileSync(file, 'utf8')
/** The lines above the file's first key: what has to lie beside it. */
const head = text.slice(0, text.indexOf('\n\n'))
const { services, secrets, networks } = parse(text, { merge: true })
/** What its head says of the folder that all of /etc/edge is. */
const settingsFiles = [...head.matchAll(/^# {3}edge\/(\S+)/gm)].map(([, name = '']) => name)
/** Each service by its name; what is not there fails the test that reads it. */
const all = Object.entries<ReturnType<typeof parse>>(services)

/** What lies where in a container: `./edge` → `/etc/edge`. */
function mounts({ volumes, secrets: named = [] }: ReturnType<typeof parse>): [from: string, to: string][] {
  return [
    ...volumes.map((volume: string) => volume.split(':').slice(0, 2)),
    ...named.map((name: string) => [secrets[name].file, `/run/secrets/${name}`]),
  ]
}

t.test('a linter accepts it, against the schema of the Compose specification as well', async (t) => {
  const faults = (path: string) =>
    new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] })
      .lintFiles([path], false)
      .flatMap(({ messages }: { readonly messages: readonly Fault[] }) => messages)
      .map(({ rule, message }: Fault) => `${rule}: ${message}`)
  t.strictSame(faults(file), [])
  const planted = join(t.testdir({}), 'compose.yaml')
  writeFileSync(planted, text.replace('cap_drop', 'cap_dropp'))
  t.match(faults(planted), [/^invalid-schema: .*additional properties/], 'the check finds what is planted')
})

t.test('what it names is there, or its head says that it is needed', async (t) => {
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
  t.strictSame([...used].sort(), Object.keys(secrets).sort(), 'no secret is declared for nobody')
})

t.test("what is the site's own reaches no image and no repository", (t) => {
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

t.test('each service has what it needs and no more', async (t) => {
  for (const [name, service] of all) {
    t.match(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name)
    t.equal(service.restart, 'unless-stopped', name)
    t.notOk(service.privileged ?? service.network_mode ?? service.cap_add, name)
    if (service.build === undefined) t.match(service.image, /^[a-z]+:\d+\.\d+$/, `${name} has a release`)
    for (const volume of service.volumes) t.match(volume, /:ro$/, `${name} changes nothing of ${volume}`)
    for (const [key, value] of Object.entries(service.environment ?? {}))
      t.ok(!/PASSWORD|KEY/.test(key) || String(value).startsWith('/run/secrets/'), `${name}: ${key} is no secret`)
  }
  const published = all.flatMap(([name, { ports = [] }]) => ports.map((port: string) => `${name} ${port}`))
  t.strictSame(published, ['balancer 0.0.0.0:55000:55000'], 'clients reach the balancer, and nothing else')
  const { drain } = parse(readFileSync('config/default.yaml', 'utf8')).listen
  t.ok(Number.parseInt(services['edge-1'].stop_grace_period, 10) > Number.parseInt(drain.limit, 10))
  t.match(readFileSync('config/haproxy.cfg', 'utf8'), /^ {4}bind :55000$/m)
})

t.test('the settings of a replica are right with exactly what is mounted', async (t) => {
  const place = t.testdir({})
  const { environment, command } = services['edge-1']
  t.strictSame(services['edge-2'], services['edge-1'])
  const inside = (path: string) => path.replaceAll(/\/(?:etc\/edge|run\/secrets)\//g, (folder) => join(place, folder))
  const settings = parse(readFileSync('config/edge.example.yaml', 'utf8'))
  // As the head of the file says it.
  delete settings.cache
  settings.listen.tls = 'off'
  settings.operations.tls = 'off'
  settings.listen.trustedProxies = [networks.edge.ipam.config[0].subnet]
  mkdirSync(inside('/etc/edge/keys'), { recursive: true })
  mkdirSync(inside('/run/secrets/'), { recursive: true })
  for (const [, to] of mounts(services['edge-1'])) {
    if (to !== '/etc/edge') writeFileSync(inside(to), to.endsWith('/cache') ? 'k'.repeat(44) : 'a-secret-of-its-own\n')
  }
  for (const name of settingsFiles) {
    if (name === 'keys/') await createKeyFile(inside(`/etc/edge/${name}`))
    else writeFileSync(inside(`/etc/edge/${name}`), 'nobody reads it here\n')
  }
  const path = inside(command.at(-1))
  writeFileSync(path, inside(stringify(settings)))
  const env = Object.fromEntries(Object.entries<string>(environment).map(([key, value]) => [key, inside(value)]))
  const loaded = await loadConfig({ file: path, env })
  t.strictSame(loaded.ok ? [] : loaded.faults, [])
  t.match(loaded.ok && loaded.config.cache.redis, { url: 'redis://redis:6379', username: 'edge' })
  const wrong = await loadConfig({ file: path, env: { ...env, EDGE_CACHE_REDIS_URI: 'x' } })
  t.equal(wrong.ok, false, 'a name that is no setting would be found')
})
