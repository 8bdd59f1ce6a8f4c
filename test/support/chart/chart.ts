/** The Helm chart, and the manifests in the repository that are rendered from it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const CHART = 'config/helm/manager-edge'
export const BASE = 'config/kubernetes/manager-edge.yaml'
/** The rendering with every option in use. Only the tests read it. */
export const EVERYTHING = 'test/support/chart/everything.yaml'

const CONFIG = 'config/kubernetes/edge.yaml'
const EVERYTHING_VALUES = 'test/support/chart/everything.values.yaml'
/** Files of the chart that do not change what the two files contain. The alert rules are compared by a test. */
const NOT_RENDERED = ['files/alerts.yml', 'values.schema.json', '.helmignore', 'templates/NOTES.txt']

/** Rendered file → arguments of `helm template`. Kustomize creates the ConfigMap of the base. */
const renderings = {
  [BASE]: ['--set', 'existingConfigMap=manager-edge'],
  [EVERYTHING]: ['--values', EVERYTHING_VALUES],
} as const

export type Rendered = keyof typeof renderings
export const RENDERED_FILES = Object.keys(renderings) as Rendered[]

/** Returns the path of helm, from the variable HELM or the path, or undefined. */
export function findHelm(): string | undefined {
  const { HELM, PATH = '' } = process.env
  return (
    HELM ??
    PATH.split(delimiter)
      .find((folder) => existsSync(join(folder, 'helm')))
      ?.concat('/helm')
  )
}

/** Returns the output of `helm template` with a file as the configuration; '' is none. Throws with helm's message. */
export function template(helm: string, args: readonly string[] = [], config: string = CONFIG): string {
  const settings = config === '' ? [] : ['--set-file', `config=${config}`]
  // Helm compares kubeVersion of the chart with its own version, which may be older.
  const all = ['template', 'manager-edge', CHART, '--kube-version', '1.31.0', ...settings, ...args]
  return execFileSync(helm, all, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Returns the content of a rendered file. */
export function render(helm: string, file: Rendered): string {
  return `# Written by "npm run chart:render" from ${CHART}; change the chart, not this file.\n# ${digest()}\n${template(helm, renderings[file])}`
}

/**
 * Returns a digest of all files that a rendering depends on. Each rendered file contains it, so that a change of the
 * chart without a new rendering is found where helm is not installed.
 */
export function digest(): string {
  const files = readdirSync(CHART, { recursive: true, encoding: 'utf8' })
    .filter((name) => !NOT_RENDERED.includes(name) && !lstatSync(join(CHART, name)).isDirectory())
    .map((name) => join(CHART, name))
  const hash = createHash('sha256')
  for (const file of [...files.sort(), CONFIG, EVERYTHING_VALUES])
    hash.update(`${file}\n${readFileSync(file, 'utf8')}\n`)
  return `Digest of the chart: ${hash.digest('hex')}`
}
