import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

/** What each room may import. A file directly in `src` is a room with the name of the file. */
interface Room {
  readonly rooms: readonly string[]
  readonly packages: readonly string[]
  /** Built-in modules that this room must not import. */
  readonly never?: readonly string[]
}

const NETWORK = ['node:http', 'node:https', 'node:net', 'node:tls', 'node:dns', 'node:http2']

const table: Readonly<Record<string, Room>> = {
  core: { rooms: ['catalogue/endpoint'], packages: ['lru-cache'], never: [...NETWORK, 'node:fs'] },
  catalogue: { rooms: [], packages: [], never: [...NETWORK, 'node:fs'] },
  query: { rooms: ['core', 'catalogue/endpoint'], packages: [], never: [...NETWORK, 'node:fs'] },
  rows: { rooms: ['core', 'query'], packages: [], never: [...NETWORK, 'node:fs'] },
  'file-watcher': { rooms: [], packages: [], never: NETWORK },
  listener: { rooms: ['core', 'file-watcher'], packages: ['fastify'] },
  representation: { rooms: ['core'], packages: ['lru-cache'], never: [...NETWORK, 'node:fs'] },
  // http receives the catalogue as a value: without the records, no code can ask an endpoint for its name.
  http: {
    rooms: [
      'core',
      'catalogue/endpoint',
      'catalogue/schemas/kinds',
      'query/grammar',
      'access',
      'listener',
      'representation',
    ],
    packages: [
      'fastify',
      '@fastify/basic-auth',
      '@fastify/caching',
      '@fastify/cors',
      '@fastify/jwt',
      '@fastify/rate-limit',
      'ajv',
      'find-my-way',
      'saxes',
    ],
  },
  access: {
    rooms: ['core', 'file-watcher'],
    packages: ['@node-rs/bcrypt', 'undici'],
    never: ['node:http', 'node:https', 'node:net'],
  },
  pipeline: { rooms: ['core', 'catalogue/endpoint'], packages: [], never: NETWORK },
  cache: {
    rooms: ['core', 'catalogue', 'query', 'rows', 'redis'],
    packages: ['lru-cache'],
    never: [...NETWORK, 'node:fs'],
  },
  // What replicas share through Redis: the connection, the registry of replicas, and the shared state of access.
  redis: {
    rooms: ['core', 'access/revocations', 'admin/console/history-records'],
    packages: ['ioredis'],
    never: [...NETWORK, 'node:fs'],
  },
  join: { rooms: ['core', 'catalogue/endpoint', 'query', 'rows'], packages: [], never: NETWORK },
  upstream: {
    rooms: [
      'core',
      'catalogue/endpoint',
      'catalogue/classic-texts',
      'catalogue/newer/translation',
      'catalogue/schemas/kinds',
      'query',
      'rows',
    ],
    packages: ['lru-cache', 'undici'],
  },
  audit: { rooms: ['core', 'catalogue/endpoint'], packages: ['proper-lockfile'], never: NETWORK },
  // telemetry/traces is loaded only where traces are configured.
  telemetry: {
    rooms: ['core'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/otlp-transformer',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
      '@platformatic/prom-client',
      'undici',
    ],
  },
  admin: {
    rooms: ['core', 'query', 'catalogue/endpoint', 'catalogue/items', 'catalogue/schemas/kinds'],
    packages: [
      'ajv',
      'fastify',
      '@fastify/static',
      '@fastify/swagger',
      '@fastify/swagger-ui',
      'openid-client',
      'typebox',
    ],
  },
  // The operators' page runs in a browser. It knows the edge only by the types of the console API.
  console: {
    rooms: ['admin/console/*-types'],
    packages: ['preact', '@preact/signals', 'uplot', '@tanstack/virtual-core'],
  },
  config: { rooms: ['core'], packages: ['yaml', 'typebox', 'ajv', 'fastest-levenshtein'] },
  simulator: { rooms: ['core', 'catalogue', 'query'], packages: ['saxes'] },
}

/** The composition root, the process and the commands may import every room. */
const UNRESTRICTED = ['app', 'server', 'cli']
const IMPORT =
  /^\s*(?:import|export)\s[^'"`]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s*['"]([^'"]+)['"]/gm

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return sources(path)
    return /\.tsx?$/.test(name) ? [path] : []
  })
}

/** `src/pipeline/ports.ts` → `pipeline/ports`; its room is the first segment. */
function place(path: string): string {
  return relative('src', path).replace(/\.tsx?$/, '')
}

function roomOf(path: string): string {
  return place(path).split('/')[0] ?? ''
}

function importsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
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

function fault(path: string, specifier: string): string | undefined {
  const room = table[roomOf(path)]
  if (room === undefined) return `${path}: the table of rooms has no row for it`
  if (specifier.startsWith('node:')) {
    return room.never?.includes(specifier) ? `${path} must never import ${specifier}` : undefined
  }
  if (!specifier.startsWith('.')) {
    return room.packages.includes(packageOf(specifier)) ? undefined : `${path} must not import the package ${specifier}`
  }
  const target = place(join(dirname(path), specifier))
  const own = target.split('/')[0] === roomOf(path)
  const allowed = room.rooms.some((known) => isIn(target, known))
  return own || allowed ? undefined : `${path} must not import ${target}`
}

t.test('every import is one that the table of rooms allows', async (t) => {
  const files = sources('src').filter((path) => !UNRESTRICTED.includes(roomOf(path)))
  t.ok(files.length > 30, `${files.length} files read`)
  for (const path of files) {
    for (const specifier of importsOf(path)) t.equal(fault(path, specifier), undefined, `${path} → ${specifier}`)
  }
})

t.test('the table has no row for a room that does not exist', async (t) => {
  const rooms = new Set(sources('src').map(roomOf))
  for (const room of Object.keys(table)) t.ok(rooms.has(room), room)
})

t.test('each import that the table allows is used', async (t) => {
  for (const [name, { rooms, packages }] of Object.entries(table)) {
    const files = sources('src').filter((path) => roomOf(path) === name)
    const used = files.flatMap((path) =>
      importsOf(path).map((each) => (each.startsWith('.') ? place(join(dirname(path), each)) : each)),
    )
    for (const known of [...rooms, ...packages])
      t.ok(
        used.some((each) => isIn(each, known)),
        `${name} uses ${known}`,
      )
  }
})

t.test('only the settings read the environment, only the process and the commands touch process', async (t) => {
  for (const path of sources('src')) {
    const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    const room = roomOf(path)
    if (room !== 'config' && !UNRESTRICTED.includes(room)) t.notMatch(code, /\bprocess\.(?!hrtime|cwd)/, path)
    if (room !== 'config' && room !== 'cli' && room !== 'server') t.notMatch(code, /process\.env/, path)
  }
})

t.test('an import that the table forbids is found', async (t) => {
  t.match(fault('src/pipeline.ts', 'fastify'), /must not import the package/)
  t.match(fault('src/catalogue/endpoint.ts', '../core/request.ts'), /must not import core/)
  t.match(fault('src/query/grammar.ts', 'node:http'), /must never import/)
  t.match(fault('src/console/app.tsx', '../admin/console/ports.ts'), /must not import admin/)
})
