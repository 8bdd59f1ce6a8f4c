/** Loads the console and the reference: plugins of the operations listener, which an installation may leave out. */
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { noConsolePlugin } from '../admin/listener.ts'
import type { Config } from '../config/schema.ts'
import type { IssuerSettings } from '../status/edge-view.ts'
import type { EdgePlugin } from './plugins.ts'
import { builtFolder } from './process.ts'
import type { Descriptions } from './reference.ts'

/** What a package of this repository exports. */
interface PluginModule {
  readonly operationsPlugin: EdgePlugin['plugin']
}

interface ConsoleModule extends PluginModule {
  /** Rejects with the reason if the issuer of sign-ins cannot be used. */
  checkIssuer(settings: IssuerSettings): Promise<unknown>
}

const SOURCE = /\/src\/app\/[^/]+$/

/** Beside the built program, or the sources while the sources run (tests). */
function entryOf(name: string): URL {
  const built = `../${name}-server/index.js`
  const source = `../../packages/${name}/server/index${extname(import.meta.url)}`
  return new URL(SOURCE.test(import.meta.url) ? source : built, import.meta.url)
}

/** Resolves to `undefined` if the package is not installed. It is no static import: the edge starts without it. */
async function load<Module extends PluginModule>(name: string): Promise<Module | undefined> {
  const entry = entryOf(name)
  return existsSync(entry) ? import(entry.href) : undefined
}

export function loadConsole(): Promise<ConsoleModule | undefined> {
  return load('console')
}

/** Returns a sentence on what an installation without the console lacks; nothing if it has one, or lacks nothing. */
export function describeMissingConsole({ operations }: Config, hasReplicas: boolean): readonly string[] {
  if (existsSync(entryOf('console'))) return []
  const lacks = [
    ...(operations.signIn.issuer === undefined ? [] : ['operations.signIn has no effect']),
    ...(hasReplicas ? ['the other replicas see rates of 0 for this one'] : []),
  ]
  return lacks.length === 0 ? [] : [`no console is installed: ${lacks.join(', and ')}`]
}

/** Returns the plugins that are installed, and what answers without the console. */
export async function installedPlugins(documents: Descriptions): Promise<readonly EdgePlugin[]> {
  const reference = await installedPlugin('reference', { documents })
  const console = (await installedPlugin('console')) ?? { name: 'no console', plugin: noConsolePlugin }
  return reference === undefined ? [console] : [reference, console]
}

/** The plugin gets the folder of what the build wrote for it, beside `more`. */
async function installedPlugin(name: string, more?: object): Promise<EdgePlugin | undefined> {
  const installed = await load(name)
  return installed && { name, plugin: installed.operationsPlugin, options: { ...more, folder: builtFolder(name) } }
}
