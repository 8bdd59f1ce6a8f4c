import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

/**
 * What each room may import. A file directly in `src` is a room with the name of the file. A package of the repository is a
 * room, and its commands are another one.
 */
interface Room {
  readonly rooms: readonly string[]
  /** Rooms of which only types may be imported. */
  readonly types?: readonly string[]
  readonly packages: readonly string[]
  /** Built-in modules that this room must not import. */
  readonly never?: readonly string[]
}

const NETWORK = ['node:http', 'node:https', 'node:net', 'node:tls', 'node:dns', 'node:http2']

const table: Readonly<Record<string, Room>> = {
  core: {
    rooms: ['contracts/endpoint'],
    types: ['contracts/items/cache'],
    packages: ['fastest-levenshtein', 'lru-cache'],
    never: [...NETWORK, 'node:fs'],
  },
  contracts: { rooms: [], packages: [], never: [...NETWORK, 'node:fs'] },
  collections: {
    rooms: [
      'core',
      'contracts/endpoint',
      'contracts/v3/inventories',
      'contracts/v3/texts.json',
      'contracts/translations/translation',
    ],
    packages: [],
    never: [...NETWORK, 'node:fs'],
  },
  'file-watcher': { rooms: [], packages: [], never: NETWORK },
  listener: { rooms: ['core'], packages: ['fastify'] },
  representation: { rooms: ['core'], packages: ['lru-cache'], never: [...NETWORK, 'node:fs'] },
  // http receives the records as a value: without the records, no code can ask an endpoint for its name.
  http: {
    rooms: [
      'core',
      'contracts/endpoint',
      'contracts/v4/formats',
      'contracts/v4/value',
      'contracts/schemas/kinds',
      'collections/grammar',
      'access',
      'listener',
      'representation',
    ],
    types: ['config/schema'],
    packages: [
      'fastify',
      '@fastify/basic-auth',
      '@fastify/caching',
      '@fastify/cors',
      '@fastify/jwt',
      '@fastify/rate-limit',
      'find-my-way',
      'saxes',
    ],
  },
  access: {
    // The tokens and rights of the manager's users are stored in the cache.
    rooms: ['core', 'file-watcher', 'cache/stores/contract', 'cache/stores/epochs'],
    packages: ['@node-rs/bcrypt', 'jose', 'undici'],
    never: ['node:http', 'node:https', 'node:net'],
  },
  pipeline: { rooms: ['core', 'contracts/endpoint'], packages: [], never: NETWORK },
  cache: {
    rooms: ['core', 'contracts', 'collections', 'replicas'],
    types: ['config/schema'],
    packages: ['lru-cache'],
    never: [...NETWORK, 'node:fs'],
  },
  // What replicas share through Redis: the connection, the registry of replicas, and the shared state of access.
  replicas: {
    rooms: ['core', 'access/revocations'],
    packages: ['ioredis'],
    never: [...NETWORK, 'node:fs'],
  },
  join: { rooms: ['core', 'contracts/endpoint', 'collections'], packages: [], never: NETWORK },
  layouts: {
    rooms: [
      'core',
      'contracts/endpoint',
      'contracts/v3/texts.json',
      'contracts/translations/translation',
      'contracts/schemas/kinds',
      'collections',
    ],
    packages: [],
    never: NETWORK,
  },
  upstream: {
    rooms: ['layouts', 'core', 'contracts/endpoint', 'collections'],
    packages: ['lru-cache', 'undici'],
  },
  audit: { rooms: ['core', 'contracts/endpoint'], packages: ['proper-lockfile'], never: NETWORK },
  // telemetry/traces is loaded only where traces are configured.
  telemetry: {
    rooms: ['core'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/otlp-transformer',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
      '@platformatic/prom-client',
      'undici',
    ],
  },
  // What is wrong with the edge, whether it is ready, and what replicas report to each other.
  status: { rooms: ['core'], packages: ['ajv', 'fastify', 'typebox'], never: [...NETWORK, 'node:fs'] },
  admin: { rooms: ['core', 'status'], packages: ['fastify'] },
  // Runs at build time: writes the documents of both contracts from their records, their pages, and the schema of the settings.
  'packages/reference': {
    rooms: ['config/formats', 'config/schema', 'config/tree', 'contracts', 'core/endpoint-names', 'core/errors'],
    packages: ['fastify', '@fastify/swagger', '@fastify/swagger-ui'],
  },
  // Serves what the build wrote: a plugin of the operations listener.
  'packages/reference/server': {
    rooms: ['admin/listener'],
    packages: ['fastify', '@fastify/static', 'yaml'],
    never: NETWORK.filter((name) => name !== 'node:http'),
  },
  // The operators' page runs in a browser. It knows the edge only by the types of the console API, and what follows from them.
  'packages/console': {
    rooms: [
      'packages/console/server/*-types',
      'packages/console/server/explained-url',
      'packages/console/server/other-fields',
      'status/*-types',
    ],
    packages: ['preact', '@preact/signals', 'uplot', '@tanstack/virtual-core'],
  },
  // The console API and what it records: a plugin of the operations listener, which sees the edge through `EdgeView`.
  'packages/console/server': {
    // What the claims of an issuer mean is the same for sign-ins and tokens.
    rooms: ['access/roles', 'admin/listener', 'admin/sign-in', 'collections', 'core', 'status'],
    packages: ['fastify', '@fastify/static', 'openid-client', 'typebox'],
    never: [...NETWORK.filter((name) => name !== 'node:http'), 'node:fs'],
  },
  config: { rooms: ['core'], packages: ['yaml', 'typebox', 'ajv'] },
  // What a request means, not how the edge serves it: the simulated cluster takes the place of the manager.
  'packages/simulator': {
    rooms: [
      'core/errors',
      'core/values',
      'contracts/index',
      'contracts/endpoint',
      'contracts/v3/inventories',
      'contracts/v3/texts.json',
      'contracts/schemas/kinds',
      'collections',
    ],
    packages: ['saxes'],
  },
  // Writes clients from the descriptions of both contracts.
  'packages/clients': {
    rooms: [
      'packages/reference/document',
      'packages/reference/v4-document',
      'packages/reference/parameters',
      'contracts/index',
      'contracts/v4/index',
    ],
    packages: ['openapi-typescript', 'typescript'],
  },
  // A client of the edge that knows its contracts: what operations there are, what they mean, what writes invalidate.
  'packages/mcp': {
    rooms: [
      'packages/reference/document',
      'packages/reference/section',
      'packages/tools/commands/edge-client',
      'cache/tags',
      'contracts/endpoint',
      'contracts/index',
      'core/access',
      'core/request',
      'core/errors',
      'core/values',
      'collections/contracts',
    ],
    packages: ['@modelcontextprotocol/sdk'],
  },
  // Connect to an edge as the other commands do.
  'packages/mcp/commands': {
    rooms: [
      'packages/mcp',
      'packages/tools/commands/index',
      'packages/tools/commands/edge-client',
      'app/process',
      'contracts/endpoint',
      'cli/added-commands',
      'cli/help',
      'cli/terminal',
    ],
    packages: ['@modelcontextprotocol/sdk', 'commander'],
  },
  // Commands against a running edge, about its surroundings, and about its contracts: clients of the operations listener, and
  // what `check` tries.
  'packages/tools/commands': {
    rooms: [
      'packages/console/server/*-types',
      'packages/console/server/explained-url',
      'packages/console/server/other-fields',
      'app/base',
      'app/cluster',
      'app/process',
      'contracts/endpoint',
      'contracts/index',
      'cli',
      'config/formats',
      'config/schema',
      'core/access',
      'core/errors',
      'core/endpoint-names',
      'core/values',
      'replicas/options',
      'server/exit',
      'status/*-types',
      'upstream/options',
    ],
    packages: ['commander', 'undici'],
  },
  // Start an edge as the command line does, with files of users and keys.
  'packages/simulator/commands': {
    rooms: [
      'packages/simulator/free-port',
      'packages/simulator/index',
      'access/signing-keys',
      'access/users-file',
      'cli/added-commands',
      'cli/terminal',
      'config/index',
      'config/schema',
      'server',
    ],
    packages: ['commander', 'yaml'],
  },
}

/** The composition root, the process and the commands may import every room. */
const UNRESTRICTED = ['app', 'server', 'cli']
const PACKAGES = readdirSync('packages')
/** The folders of all sources. */
const SOURCES = [
  'src',
  ...PACKAGES.map((name) => `packages/${name}/src`),
  'packages/console/server',
  'packages/reference/server',
]
const IMPORT =
  /^\s*(?:import|export)\s[^'"`]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s*['"]([^'"]+)['"]/gm

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return sources(path)
    return /\.tsx?$/.test(name) ? [path] : []
  })
}

/** `src/core/turns.ts` → `core/turns`, `packages/console/src/table.tsx` → `packages/console/table`. */
function place(path: string): string {
  return path
    .replace(/^src\//, '')
    .replace(/^(packages\/[\w-]+)\/src\//, '$1/')
    .replace(/\.tsx?$/, '')
}

/** Returns the room of a place: its first segment, or the most particular row of a package. */
function roomOf(path: string): string {
  const target = place(path)
  if (!target.startsWith('packages/')) return target.split('/')[0] ?? ''
  const rows = Object.keys(table).filter((row) => isIn(target, row))
  return rows.sort((a, b) => b.length - a.length)[0] ?? target
}

interface Import {
  readonly specifier: string
  /** `import type` or `export type`. */
  readonly isType: boolean
}

function importsOf(path: string): Import[] {
  return [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([statement, ...specifiers]) => ({
    specifier: specifiers.find((each) => each !== undefined) ?? '',
    isType: /^\s*(?:import|export)\s+type\s/.test(statement),
  }))
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** `*` in a known place is any part of a file name. */
function isIn(target: string, known: string): boolean {
  if (known.includes('*')) return new RegExp(`^${known.replace('*', '[\\w-]+')}$`).test(target)
  return target === known || target.startsWith(`${known}/`)
}

function fault(path: string, { specifier, isType }: Import): string | undefined {
  const room = table[roomOf(path)]
  if (room === undefined) return `${path}: the table of rooms has no row for it`
  if (specifier.startsWith('node:')) {
    return room.never?.includes(specifier) ? `${path} must never import ${specifier}` : undefined
  }
  if (!specifier.startsWith('.')) {
    return room.packages.includes(packageOf(specifier))
      ? undefined
      : `${path} must not import the package ${specifier}; the table of rooms decides`
  }
  const target = place(join(dirname(path), specifier))
  const own = roomOf(join(dirname(path), specifier)) === roomOf(path)
  const known = [...room.rooms, ...((isType && room.types) || [])]
  const allowed = known.some((each) => isIn(target, each))
  return own || allowed ? undefined : `${path} must not import ${target}; the table of rooms decides`
}

t.test('every import is one that the table of rooms allows', async (t) => {
  const files = SOURCES.flatMap(sources).filter((path) => !UNRESTRICTED.includes(roomOf(path)))
  t.ok(files.length > 30, `${files.length} files read`)
  for (const path of files) {
    for (const each of importsOf(path)) t.equal(fault(path, each), undefined, `${path} → ${each.specifier}`)
  }
})

t.test('the table has no row for a room that does not exist', async (t) => {
  const rooms = new Set(SOURCES.flatMap(sources).map(roomOf))
  for (const room of Object.keys(table)) t.ok(rooms.has(room), room)
})

t.test('each import that the table allows is used', async (t) => {
  for (const [name, { rooms, types = [], packages }] of Object.entries(table)) {
    const files = SOURCES.flatMap(sources).filter((path) => roomOf(path) === name)
    const used = files.flatMap((path) =>
      importsOf(path).map(({ specifier }) =>
        specifier.startsWith('.') ? place(join(dirname(path), specifier)) : specifier,
      ),
    )
    for (const known of [...rooms, ...types, ...packages])
      t.ok(
        used.some((each) => isIn(each, known)),
        `${name} uses ${known}`,
      )
  }
})

t.test('only the settings read the environment, only the process and the commands touch process', async (t) => {
  for (const path of SOURCES.flatMap(sources)) {
    const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    const room = roomOf(path)
    if (room === 'config' || room.endsWith('/commands')) continue
    if (!UNRESTRICTED.includes(room)) t.notMatch(code, /\bprocess\.(?!hrtime|cwd)/, path)
    if (room !== 'cli' && room !== 'server') t.notMatch(code, /process\.env/, path)
  }
})

t.test('only the listener uses internals of Node.js', async (t) => {
  const internal = /\??\.\s*_\w|\[['"]_\w|process\.binding|getOwnPropertySymbols/
  t.match(readFileSync('src/listener/node-internals.ts', 'utf8'), internal)
  for (const path of sources('src').filter((path) => roomOf(path) !== 'listener'))
    t.notMatch(readFileSync(path, 'utf8'), internal, path)
})

t.test('the edge imports no package of the repository', async (t) => {
  for (const path of sources('src'))
    for (const { specifier } of importsOf(path))
      t.notMatch(
        specifier.startsWith('.') ? join(dirname(path), specifier) : specifier,
        /^(?:packages|@manager-edge)\//,
        path,
      )
})

t.test('each package declares what it imports, in the version of the edge', async (t) => {
  const edge = declaredBy('package.json')
  for (const name of PACKAGES) {
    const declared = declaredBy(join('packages', name, 'package.json'))
    const imported = SOURCES.filter((folder) => folder.startsWith(`packages/${name}/`))
      .flatMap(sources)
      .flatMap(importsOf)
      .map(({ specifier }) => specifier)
      .filter((specifier) => !/^(?:node:|\.)/.test(specifier))
    for (const each of new Set(imported.map(packageOf))) t.ok(declared[each], `packages/${name}/package.json: ${each}`)
    for (const [each, version] of Object.entries(declared))
      t.equal(edge[each] ?? version, version, `packages/${name}/package.json: ${each}`)
  }
})

function declaredBy(manifest: string): Readonly<Record<string, string>> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(manifest, 'utf8'))
  return { ...dependencies, ...devDependencies }
}

t.test('an import that the table forbids is found', async (t) => {
  const faultOf = (path: string, specifier: string, isType = false) => fault(path, { specifier, isType })
  t.match(faultOf('src/pipeline.ts', 'fastify'), /must not import the package/)
  t.match(faultOf('src/contracts/endpoint.ts', '../core/request.ts'), /must not import core/)
  t.match(faultOf('src/collections/grammar.ts', 'node:http'), /must never import/)
  t.match(faultOf('packages/console/src/app.tsx', '../server/recorders.ts'), /must not import packages/)
  t.match(faultOf('packages/console/server/history.ts', '../../../src/cache/index.ts'), /must not import cache/)
  t.match(faultOf('packages/simulator/src/world.ts', '../../../src/core/request.ts'), /must not import core/)
  t.match(faultOf('packages/simulator/src/world.ts', './commands/demo.ts'), /must not import packages/)
  t.match(faultOf('src/cache/explain.ts', '../config/schema.ts'), /must not import config/)
  t.equal(faultOf('src/cache/explain.ts', '../config/schema.ts', true), undefined)
})
