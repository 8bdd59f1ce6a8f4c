/** Loads the console, which an installation may leave out. */
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { noConsolePlugin } from '../admin/listener.ts'
import type { Config } from '../config/schema.ts'
import type { IssuerSettings } from '../status/edge-view.ts'
import type { EdgePlugin } from './plugins.ts'
import { builtFolder } from './process.ts'

/** What the console, a package of this repository, exports. An installation may leave it out. */
interface ConsoleModule {
  readonly consolePlugin: EdgePlugin['plugin']
  /** Rejects with the reason if the issuer of sign-ins cannot be used. */
  checkIssuer(settings: IssuerSettings): Promise<unknown>
}

const SOURCE = /\/src\/app\/[^/]+$/

/** Beside the built program, or the sources while the sources run (tests). */
const CONSOLE = new URL(
  SOURCE.test(import.meta.url)
    ? `../../packages/console/server/index${extname(import.meta.url)}`
    : '../console-server/index.js',
  import.meta.url,
)

/** Resolves to `undefined` if no console is installed. It is no static import: the edge starts without it. */
export async function loadConsole(): Promise<ConsoleModule | undefined> {
  return existsSync(CONSOLE) ? import(CONSOLE.href) : undefined
}

/** Returns a sentence on what an installation without the console lacks; nothing if it has one, or lacks nothing. */
export function describeMissingConsole({ operations }: Config, hasReplicas: boolean): readonly string[] {
  if (existsSync(CONSOLE)) return []
  const lacks = [
    ...(operations.signIn.issuer === undefined ? [] : ['operations.signIn has no effect']),
    ...(hasReplicas ? ['the other replicas see rates of 0 for this one'] : []),
  ]
  return lacks.length === 0 ? [] : [`no console is installed: ${lacks.join(', and ')}`]
}

/** Returns the console, or what answers without it. */
export async function consolePlugin(): Promise<EdgePlugin> {
  const installed = await loadConsole()
  if (installed === undefined) return { name: 'no console', plugin: noConsolePlugin }
  return { name: 'console', plugin: installed.consolePlugin, options: { folder: builtFolder('console') } }
}
