import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { buildEdge } from '../../../src/app/index.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { pluginFolder } from './folder.ts'

interface Row {
  readonly name: string
  /** Source of the plugin `plugin.mjs`. */
  readonly source?: string
  readonly plugin?: object
  readonly prepare?: (folder: string) => Promise<unknown>
  readonly refusal: RegExp
}

const NOTHING = 'export default async function () {}'
const FASTIFY = JSON.stringify({ name: 'team', main: 'index.js' })

const rows: readonly Row[] = [
  {
    name: 'a missing file',
    plugin: { file: 'no.mjs' },
    refusal: /plugins\[0\]\.file: \S+no\.mjs cannot be read \(ENOENT\); create it/,
  },
  { name: 'a folder', plugin: { file: '.' }, refusal: /plugins\[0\]\.file: \S+ is a folder; name a file in it/ },
  {
    name: 'a path through a file',
    source: NOTHING,
    plugin: { file: 'plugin.mjs/more.mjs' },
    refusal: /is a file, not a folder; correct the path/,
  },
  {
    name: 'no plugin',
    source: 'export default { a: 1 }',
    refusal: /exports no plugin; write "export default async function/,
  },
  { name: 'no default export', source: 'export const a = 1', refusal: /exports no plugin/ },
  { name: 'an empty file', source: '', refusal: /exports no plugin/ },
  {
    name: 'no JavaScript',
    source: 'listen: no',
    refusal: /plugin\.mjs cannot be started: .*; correct it, or remove it from the settings/,
  },
  { name: 'a module that throws', source: 'throw new Error("no licence")', refusal: /cannot be started: no licence;/ },
  { name: 'a module that throws text', source: 'throw "no licence"', refusal: /cannot be started: no licence;/ },
  { name: 'an import that is missing', source: 'import "./no.mjs"', refusal: /cannot be started: Cannot find module/ },
  {
    name: 'a plugin that throws',
    source: 'export default async () => { throw new Error("no key") }',
    refusal: /cannot be started: no key;/,
  },
  {
    name: 'a plugin that throws at once',
    source: 'export default (app, o, done) => { throw new Error("no key") }',
    refusal: /no key/,
  },
  {
    name: 'a plugin that passes an error on',
    source: 'export default (app, o, done) => done(new Error("no key"))',
    refusal: /no key/,
  },
  {
    name: 'a route of the edge',
    source: 'export default async (app) => { app.get("/api/me", () => "") }',
    refusal: /cannot be started: Method 'GET' already declared for route '\/api\/me'/,
  },
  {
    name: 'a decorator of the edge',
    source: 'export default async (app) => { app.decorateRequest("caller") }',
    refusal: /cannot be started: .*'caller' has already been added/,
  },
  {
    name: 'a newer Fastify',
    source: `async function team() {}
      team[Symbol.for('skip-override')] = true
      team[Symbol.for('plugin-meta')] = { name: 'team', fastify: '6.x' }
      export default team`,
    refusal: /cannot be started: fastify-plugin: team - expected '6\.x' fastify version, '5\.[\d.]+' is installed/,
  },
  {
    name: 'a decorator that is missing',
    source: `async function team() {}
      team[Symbol.for('plugin-meta')] = { name: 'team', decorators: { fastify: ['mongo'] } }
      export default team`,
    refusal: /cannot be started: .*'mongo'/,
  },
  {
    name: 'a plugin that it needs',
    source: `async function team() {}
      team[Symbol.for('plugin-meta')] = { name: 'team', dependencies: ['other'] }
      export default team`,
    refusal: /cannot be started: The dependency 'other' of plugin 'team' is not registered/,
  },
  {
    name: 'a file that others may write',
    source: NOTHING,
    prepare: (folder) => chmod(join(folder, 'plugin.mjs'), 0o666),
    refusal: /plugin\.mjs may be replaced by other users; run "chmod go-w \S+plugin\.mjs"/,
  },
  {
    name: 'a file that its group may write',
    source: NOTHING,
    prepare: (folder) => chmod(join(folder, 'plugin.mjs'), 0o664),
    refusal: /may be replaced by other users/,
  },
  {
    name: 'a folder that others may write',
    source: NOTHING,
    prepare: (folder) => chmod(folder, 0o777),
    refusal: /may be replaced by other users; run "chmod go-w \S+edge-plugins-\w+"/,
  },
  {
    name: 'a link to a file that others may write',
    plugin: { file: 'link.mjs' },
    prepare: async (folder) => {
      await mkdir(join(folder, 'open'))
      await writeFile(join(folder, 'open', 'other.mjs'), NOTHING)
      await chmod(join(folder, 'open'), 0o777)
      await symlink('open/other.mjs', join(folder, 'link.mjs'))
    },
    refusal: /may be replaced by other users; run "chmod go-w \S+open"/,
  },
  {
    name: 'a package that is not installed',
    plugin: { package: '@team/plugin' },
    refusal:
      /plugins\[0\]\.package: \S+node_modules\/@team\/plugin cannot be found \(MODULE_NOT_FOUND\); install it there/,
  },
  {
    name: 'a package without a file for its name',
    plugin: { package: 'team' },
    prepare: (folder) => install(folder, JSON.stringify({ name: 'team', exports: { import: './index.js' } })),
    refusal: /team cannot be found \(ERR_PACKAGE_PATH_NOT_EXPORTED\); name its main file with file instead/,
  },
  {
    name: 'a package that others may write',
    plugin: { package: 'team' },
    prepare: async (folder) => chmod(await install(folder, FASTIFY), 0o777),
    refusal: /plugins\[0\]\.package: \S+team may be replaced by other users/,
  },
  { name: 'nothing', plugin: {}, refusal: /plugins\[0\]: must have a file or a package, and not both/ },
  { name: 'two', plugin: { file: 'a.mjs', package: 'a' }, refusal: /plugins\[0\]: must have a file or a package/ },
  {
    name: 'no name of a package',
    plugin: { package: '../team' },
    refusal: /plugins\[0\]\.package: must be the name of a package/,
  },
  {
    name: 'options that are no table',
    plugin: { file: 'a.mjs', options: 5 },
    refusal: /plugins\[0\]\.options: must be a group of settings/,
  },
  { name: 'an unknown member', plugin: { path: 'a.mjs' }, refusal: /plugins\[0\]\.path: is not a setting/ },
  {
    name: 'an unknown listener',
    plugin: { file: 'a.mjs', listener: 'all' },
    refusal: /plugins\[0\]\.listener: must be one of /,
  },
]

/** Writes the package `team`. Returns its folder. */
async function install(folder: string, description: string): Promise<string> {
  const target = join(folder, 'node_modules', 'team')
  await mkdir(target, { recursive: true })
  await writeFile(join(target, 'package.json'), description)
  await writeFile(join(target, 'index.js'), 'module.exports = async () => {}')
  return target
}

/** Returns why an edge with the plugin cannot be built; an empty text: it can. */
async function refusalOf(t: Test, { source, plugin = { file: 'plugin.mjs' }, prepare }: Omit<Row, 'name' | 'refusal'>) {
  const folder = await pluginFolder(t)
  await cp('config/users.example', join(folder, 'users'))
  if (source !== undefined) await writeFile(join(folder, 'plugin.mjs'), source)
  await prepare?.(folder)
  const settings = {
    cluster: {
      nodes: [{ name: 'm', type: 'master', url: 'http://127.0.0.1:1' }],
      credentials: { username: 'edge', password: 'only-for-tests' },
    },
    access: { users: 'users' },
    plugins: [plugin],
  }
  await writeFile(join(folder, 'edge.yaml'), stringify(settings))
  const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: {} })
  if (!loaded.ok) return loaded.faults.join('\n')
  try {
    await (
      await buildEdge(loaded.config, { logTo: new Writable({ write: (_line, _encoding, done) => done() }) })
    ).drain(0)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

for (const { name, refusal, ...row } of rows)
  t.test(`refused: ${name}`, async (t) => {
    const message = await refusalOf(t, row)
    t.match(message, refusal)
    t.notMatch(message, /\n/, 'is one line')
  })

t.test('refused: a module and a plugin that are not done in time', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const never = 'globalThis.isWaiting = true; await new Promise(() => undefined)'
  for (const source of [never, `export default async () => { ${never} }`]) {
    Reflect.deleteProperty(globalThis, 'isWaiting')
    const refusal = refusalOf(t, { source })
    while (!Reflect.has(globalThis, 'isWaiting')) await turn()
    mock.timers.tick(10_000)
    t.match(await refusal, /plugin\.mjs cannot be started: not done after 10 seconds;/)
  }
})

t.test('accepted: a file, a link and a package that only their owner may write', async (t) => {
  t.equal(await refusalOf(t, { source: NOTHING }), '')
  const link = (folder: string) => symlink('plugin.mjs', join(folder, 'link.mjs'))
  t.equal(await refusalOf(t, { source: NOTHING, plugin: { file: 'link.mjs' }, prepare: link }), '')
  t.equal(await refusalOf(t, { plugin: { package: 'team' }, prepare: (folder) => install(folder, FASTIFY) }), '')
})
