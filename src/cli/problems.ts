/** `manager-edge problems`: the list of problems that the console shows. */
import type { Problem, Problems } from '../admin/console/api-types.ts'
import { EXIT_CODES } from '../server/exit.ts'
import { type ConnectionOptions, withOperations } from './edge-client.ts'
import { coloured, printJson, singleLine } from './output.ts'
import { print } from './terminal.ts'

const STYLES = { error: 'red', warning: 'yellow', notice: 'dim' } as const

/** The exit code is 1 if there is an error or a warning. A notice is a state that an operator has chosen. */
export async function printProblems(options: ConnectionOptions & { readonly json?: true }): Promise<void> {
  await withOperations(options, async ({ read }) => {
    const { problems } = await read<Problems>('/api/problems')
    if (options.json) printJson({ problems })
    else if (problems.length === 0) print('no problems')
    else for (const problem of problems) printProblem(problem)
    if (problems.some(({ severity }) => severity !== 'notice')) process.exitCode = EXIT_CODES.failed
  })
}

function printProblem({ severity, summary, detail }: Problem): void {
  print(`${coloured(STYLES[severity], severity.padEnd(7))}  ${singleLine(summary)}`)
  print(`         ${singleLine(detail)}`)
}
