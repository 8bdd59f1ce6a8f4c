import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'

/** Asserts that the text of an OpenAPI document has no error under the recommended rules of redocly. */
export async function lintDocument(t: Test, text: string): Promise<void> {
  const file = join(t.testdir(), 'openapi.json')
  writeFileSync(file, text)
  const lint = ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--extends=recommended', '--format=json']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }
  const run = promisify(execFile)(process.execPath, lint, { env, maxBuffer: 64 * 1024 * 1024 })
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  const { totals, problems } = JSON.parse(stdout) as { totals: { errors: number }; problems: { severity: string }[] }
  t.equal(totals.errors, 0)
  t.same(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
}
