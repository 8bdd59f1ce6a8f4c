/**
 * The plugins of the listeners: those of the edge, and those that the settings name. Fastify itself encapsulates them, and
 * compares its version with the metadata of `fastify-plugin`.
 */
import { access, constants, realpath, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { describeUnreadable } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import { codeOf } from '../config/source.ts'
import { withTimeout } from '../core/timing.ts'
import type { EdgeView } from '../status/edge-view.ts'

export interface EdgePlugin {
  /** For messages: the setting and the file; of the edge's own plugins a word. */
  readonly name: string
  readonly plugin: FastifyPluginAsync<{ readonly edge: EdgeView }>
  /** What the plugin gets beside the view of the edge. */
  readonly options?: object
}

/** For the import of a plugin, and for its registration. */
const TIMEOUT_MS = 10_000
const WRITABLE_BY_OTHERS = 0o022
/** In such a folder, users can only replace their own files. */
const STICKY = 0o1000

/** Imports the plugins of one listener. Rejects with an `Error` for the operator if one cannot be used. */
export async function loadPlugins(
  plugins: Config['plugins'],
  listener: Config['plugins'][number]['listener'],
): Promise<readonly EdgePlugin[]> {
  const loaded: EdgePlugin[] = []
  for (const [at, { file, package: folder = '', options, ...on }] of plugins.entries()) {
    if (on.listener !== listener) continue
    const name = `plugins[${at}].${file === undefined ? 'package' : 'file'}: ${file ?? folder}`
    loaded.push({ name, plugin: await loadPlugin(name, file ?? entryOf(folder, name)), options })
  }
  return loaded
}

async function loadPlugin(name: string, file: string): Promise<EdgePlugin['plugin']> {
  await checkWriters(name, file)
  const load = async () => (await import(pathToFileURL(file).href)) as { default?: unknown }
  const { default: exported } = await inTime(name, load)
  // TypeScript compiles `export default` for CommonJS to a member of the exports.
  const plugin = (exported as { default?: unknown } | undefined)?.default ?? exported
  if (typeof plugin !== 'function')
    throw new Error(`${name} exports no plugin; write "export default async function (app, { edge }) { … }" in it`)
  return plugin as EdgePlugin['plugin']
}

/** Returns the file that the `package.json` of an installed package names. */
function entryOf(folder: string, name: string): string {
  const packageName = folder.slice(folder.lastIndexOf('node_modules') + 'node_modules/'.length)
  try {
    return createRequire(join(folder, 'package.json')).resolve(packageName)
  } catch (error) {
    const isModule = codeOf(error) === 'ERR_PACKAGE_PATH_NOT_EXPORTED'
    const remedy = isModule ? 'name its main file with file instead of package' : 'install it there with npm'
    throw new Error(`${name} cannot be found (${codeOf(error)}); ${remedy}`)
  }
}

/** A user who may write the file, or replace it or a folder above it, could run code with the secrets of the edge. */
async function checkWriters(name: string, file: string): Promise<void> {
  try {
    if ((await stat(file)).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    for (const path of new Set([...pathsTo(file), ...pathsTo(await realpath(file))])) {
      const { mode } = await stat(path)
      if ((mode & WRITABLE_BY_OTHERS) === 0 || (path !== file && (mode & STICKY) !== 0)) continue
      const isReadOnly = await access(path, constants.W_OK).catch((error: unknown) => codeOf(error) === 'EROFS')
      if (!isReadOnly) throw new Error(`${name} may be replaced by other users; run "chmod go-w ${path}"`)
    }
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code) throw error
    const remedy = 'create it, or let the user of this process read it'
    throw new Error(describeUnreadable(name, codeOf(error), remedy))
  }
}

/** Returns the file and all folders above it. */
function pathsTo(file: string): string[] {
  const folder = dirname(file)
  return folder === file ? [file] : [file, ...pathsTo(folder)]
}

/** Hooks of an application. All others are those of requests. */
const APPLICATION_HOOKS: ReadonlySet<string> = new Set([
  'onRoute',
  'onRegister',
  'onReady',
  'onListen',
  'preClose',
  'onClose',
])

/**
 * Registers plugins one after the other. Resolves to the names of those that hook into requests for routes of the scope that are
 * not their own. Rejects with an `Error` for the operator that names the one that failed.
 */
export async function registerPlugins(
  scope: FastifyInstance,
  plugins: readonly EdgePlugin[],
  edge: EdgeView,
): Promise<ReadonlySet<string>> {
  const hooking = new Set<string>()
  const { addHook } = scope
  for (const { name, plugin, options } of plugins) {
    // Scopes of encapsulated plugins inherit this function; their hooks are for their own routes.
    const watched = function (this: FastifyInstance, ...given: Parameters<typeof addHook>) {
      if (this === scope && !APPLICATION_HOOKS.has(given[0])) hooking.add(name)
      return addHook.apply(this, given)
    }
    Object.assign(scope, { addHook: watched })
    await inTime(name, async () => void (await scope.register(catching(plugin), { ...options, edge })))
  }
  return hooking
}

/** Fastify does not catch what a plugin throws that returns no promise. The properties are metadata of `fastify-plugin`. */
function catching(plugin: EdgePlugin['plugin']): EdgePlugin['plugin'] {
  const caught: EdgePlugin['plugin'] = (...given) => {
    try {
      return plugin(...given)
    } catch (error) {
      return Promise.reject(error)
    }
  }
  return Object.defineProperties(caught, Object.getOwnPropertyDescriptors(plugin))
}

const LATE = Symbol('late')

async function inTime<Value>(name: string, run: () => Promise<Value>): Promise<Value> {
  try {
    const value = await withTimeout(run(), TIMEOUT_MS, LATE)
    if (value === LATE) throw new Error(`not done after ${TIMEOUT_MS / 1000} seconds`)
    return value
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${name} cannot be started: ${reason}; correct it, or remove it from the settings`)
  }
}
