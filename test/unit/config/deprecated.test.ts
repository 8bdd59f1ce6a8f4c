/** Settings that were renamed: the old names work, with a warning. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { renamedSettings } from '../../../src/config/deprecated.ts'
import { toVariable } from '../../../src/config/environment.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { setIn } from '../../../src/config/tree.ts'

type Env = Readonly<Record<string, string>>

/** A value of each renamed setting that is not the default. */
const values: Readonly<Record<string, unknown>> = {
  'listen.limits.query': 7,
  'listen.limits.fields': '1KiB',
  'listen.drain.notice': '1s',
  'cache.onLostStore': 'sendAndRiskStaleReads',
  'cache.onUnreachableStore': 'sendAndRiskStaleReads',
  'cache.nearBytes': '2MiB',
  'cache.defaultDuration': '1s',
  'cache.durations': { agents: '7s', rules: '8s' },
  'cache.syncPeriods': '1s',
  'cache.compressFrom': '2KiB',
  'cache.verify.share': 0.5,
  'cache.verify.perSecond': 3,
  'cache.verify': { sampleRatio: 0.25 },
  'access.ownRoles': { desk: ['agents:read'] },
  'access.limits.requests': 7,
  'traces.share': 0.5,
  'traces.perSecond': 3,
}

/** Loads a file with these settings besides those that every configuration needs. */
async function load(t: Test, settings: Readonly<Record<string, unknown>>, env: Env = {}) {
  const tree: Record<string, unknown> = {
    cluster: {
      nodes: [{ name: 'm', type: 'master', url: 'http://127.0.0.1:1' }],
      credentials: { username: 'edge', passwordFile: 'secret' },
    },
    access: { users: 'users' },
  }
  for (const [path, value] of Object.entries(settings)) setIn(tree, path.split('.'), value)
  const folder = t.testdir({
    'edge.yaml': stringify(tree),
    users: '',
    secret: 'not easy to guess',
    value: env.FILE ?? '',
  })
  const named = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace('FOLDER', folder)]))
  return loadConfig({ file: join(folder, 'edge.yaml'), env: named })
}

type Loaded = Awaited<ReturnType<typeof load>>
const messages = (loaded: Loaded) => loaded.deprecations.map(({ message }) => message.replace(/:\d+:\d+/, ''))

/** Compares everything but the folder of the test, which both files share. */
function sameConfig(t: Test, one: Loaded, other: Loaded, name: string): void {
  if (!one.ok || !other.ok)
    t.fail(`${name}: ${[one, other].flatMap((each) => (each.ok ? [] : each.faults)).join(' | ')}`)
  else t.strictSame(one.config, other.config, `${name}: the same settings`)
}

t.test('each renamed setting works in a file with its old name and is reported', async (t) => {
  t.strictSame(Object.keys(values).sort(), renamedSettings.map(({ from }) => from).sort(), 'every row has a value here')
  for (const { from, to, since } of renamedSettings) {
    const old = await load(t, { [from]: values[from] })
    const current = await load(t, { [to]: values[from] })
    sameConfig(t, old, current, from)
    t.strictSame(messages(old), [`edge.yaml ${from}: is deprecated since ${since}; write ${to}`])
    t.strictSame(current.deprecations, [], `${to} is not deprecated`)
  }
})

/** Variables exist for settings only, so a group is represented by one of its members. */
const variables = renamedSettings.flatMap(({ from, to, since }) => {
  const value = values[from]
  if (from === 'cache.verify') return []
  const member = from === 'cache.durations' ? ['agents'] : []
  const text = member.length > 0 ? '7s' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const [oldName, name] = [from, to].map((path) => toVariable([...path.split('.'), ...member]))
  return [{ oldName: oldName ?? '', name: name ?? '', text, since }]
})

t.test('each renamed setting works in the environment with its old name and is reported', async (t) => {
  for (const { oldName, name, text, since } of variables) {
    const old = await load(t, {}, { [oldName]: text })
    const current = await load(t, {}, { [name]: text })
    sameConfig(t, old, current, oldName)
    t.strictSame(messages(old), [`${oldName}: is deprecated since ${since}; write ${name}`])

    const oldFile = await load(t, {}, { [`${oldName}_FILE`]: 'FOLDER/value', FILE: text })
    sameConfig(t, oldFile, current, `${oldName}_FILE`)
    t.strictSame(messages(oldFile), [`${oldName}_FILE: is deprecated since ${since}; write ${name}_FILE`])
  }
})

t.test('delay, where it was written, is the choice that names its price; the default is to refuse', async (t) => {
  const chosen = { 'cache.writesWithoutRedis': 'sendAndRiskStaleReads' }
  for (const name of ['cache.onLostStore', 'cache.onUnreachableStore']) {
    const inFile = await load(t, { [name]: 'delay' })
    sameConfig(t, inFile, await load(t, chosen), name)
    t.strictSame(messages(inFile), [
      `edge.yaml ${name}: is deprecated since 0.2.0; write cache.writesWithoutRedis: sendAndRiskStaleReads`,
    ])
    sameConfig(t, await load(t, {}, { [toVariable(name.split('.'))]: 'delay' }), await load(t, chosen), name)
  }
  const unset = await load(t, {})
  t.equal(unset.ok && unset.config.cache.writesWithoutRedis, 'refuse')
})

t.test('a setting with its old and its new name in one file is refused', async (t) => {
  for (const { from, to } of renamedSettings) {
    const loaded = await load(t, { [from]: values[from], [to]: values[from] })
    const faults = loaded.ok ? [] : loaded.faults
    t.equal(faults.length, 1, faults.join(' | '))
    const fault = `${from}: is the old name of ${to}, which is set too; remove ${from}`
    t.match(faults[0], new RegExp(`^edge\\.yaml:\\d+:\\d+ ${fault.replaceAll('.', '\\.')}$`))
  }
})

t.test('a setting with its old and its new name in the environment is refused', async (t) => {
  for (const [index, { oldName, name, text }] of variables.entries()) {
    const withFiles = [
      [oldName, `${name}_FILE`],
      [`${oldName}_FILE`, name],
    ] as const
    for (const [first, second] of [[oldName, name] as const, ...(index === 0 ? withFiles : [])]) {
      const env = Object.fromEntries([first, second].map((key) => [key, key.endsWith('_FILE') ? 'FOLDER/value' : text]))
      const loaded = await load(t, {}, { ...env, FILE: text })
      t.strictSame(!loaded.ok && loaded.faults, [
        `${first}: is the old name of ${second}, which is set too; remove ${first}`,
      ])
    }
  }
})

t.test('the environment overrides the file, whichever of the two has the old name', async (t) => {
  const rows: readonly (readonly [Record<string, unknown>, Env])[] = [
    [{ 'cache.nearBytes': '2MiB' }, { EDGE_CACHE_LOCALBYTES: '3MiB' }],
    [{ 'cache.localBytes': '2MiB' }, { EDGE_CACHE_NEARBYTES: '3MiB' }],
    [{ 'cache.nearBytes': '2MiB' }, { EDGE_CACHE_NEARBYTES: '3MiB' }],
  ]
  for (const [settings, env] of rows) {
    const loaded = await load(t, settings, env)
    t.equal(loaded.ok && loaded.config.cache.localBytes, 3 * 1024 ** 2, Object.keys(env).join())
    t.equal(
      loaded.deprecations.length,
      Object.keys({ ...settings, ...env }).filter((name) => /near/i.test(name)).length,
    )
  }
  const loaded = await load(t, { 'cache.durations': { agents: '7s', rules: '8s' } }, { EDGE_CACHE_TTL_AGENTS: '1s' })
  t.match(loaded.ok && loaded.config.cache.ttl, { agents: 1000, rules: 8000 }, 'only that member')
})

t.test('a fault of a setting with its old name is at the place of the old name', async (t) => {
  const loaded = await load(t, { 'cache.durations': { agents: '7s', rules: '2h' }, 'cache.syncPeriods': 5 })
  t.strictSame(!loaded.ok && loaded.faults.map((fault) => fault.replace(/(?:; |, got).*/, '')), [
    'edge.yaml:14:12 cache.ttl.rules: is over 1h',
    'edge.yaml:15:16 cache.replicationLag: must be a duration such as 0s, 750ms or 5s',
  ])
  t.equal(loaded.deprecations.length, 2, 'the warnings name the old names')
})

t.test('a group with its old name may be empty, and its unknown members are faults', async (t) => {
  t.ok((await load(t, { 'cache.verify': {} })).ok)
  const doubled = await load(t, { 'cache.verify': { share: 0.5, sampleRatio: 0.25 } })
  t.match(!doubled.ok && doubled.faults, [
    / cache\.verify: is the old name of cache\.divergenceCheck, which is set too/,
  ])
  const loaded = await load(t, { 'cache.verify': { share: 0.5, perSecnod: 1 } })
  t.match(!loaded.ok && loaded.faults, [
    /^edge\.yaml:14:5 cache\.divergenceCheck\.perSecnod: is not a setting; known here: sampleRatio, maxPerSecond$/,
  ])
})

t.test('a misspelled name is never explained with an old name', async (t) => {
  const inFile = await load(t, { 'access.ownRole': {} })
  t.match(!inFile.ok && inFile.faults, [/access\.ownRole: is not a setting; known here: .*customRoles/])
  const inEnvironment = await load(t, {}, { EDGE_ACCESS_OWNROLE: '{}' })
  t.match(!inEnvironment.ok && inEnvironment.faults, [/^EDGE_ACCESS_OWNROLE: is not a setting; (?!.*OWNROLES)/])
})

t.test('a file of release 0.1.0 with all its settings is valid, with warnings for renamed settings only', async (t) => {
  const settingsOf = (file: string) => parse(readFileSync(file, 'utf8'))
  const { staleWhileRevalidate, endpoints } = settingsOf('test/unit/config/default-0.1.0.yaml').cache
  const loadFrom = async (file: string) => {
    const settings = settingsOf(file)
    // Their defaults have changed since.
    Object.assign(settings.cache, { staleWhileRevalidate, endpoints })
    if (settings.cache.onLostStore === 'delay') settings.cache.onLostStore = 'refuse'
    settings.cluster.nodes = [{ name: 'm', type: 'master', url: 'https://10.0.0.1:55000' }]
    Object.assign(settings.cluster.credentials, { username: 'edge', passwordFile: 'secret' })
    Object.assign(settings.access, { users: 'users', passthroughRole: 'administrator' })
    const folder = t.testdir({ 'edge.yaml': stringify(settings), users: '', secret: 'not easy to guess' })
    return loadConfig({ file: join(folder, 'edge.yaml'), env: {} })
  }
  const old = await loadFrom('test/unit/config/default-0.1.0.yaml')
  sameConfig(t, old, await loadFrom('config/default.yaml'), 'release 0.1.0 and this one')
  const renamed = renamedSettings
    .map(({ from }) => from)
    .filter((from) => from !== 'cache.verify' && from !== 'cache.onUnreachableStore')
  t.strictSame(
    old.deprecations.map(({ name }) => name),
    renamed,
  )
})
