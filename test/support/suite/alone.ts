/** Runs one test file in a process of its own, and prints the CPU time of this process and its children as a comment. */
import { pathToFileURL } from 'node:url'
import { cpuSeconds } from './costs.ts'

// Modules see the file as the script, as without this one.
process.argv.splice(1, 1)
process.on('exit', () => console.log(`# cpu=${cpuSeconds()}`))
await import(pathToFileURL(process.argv[1] ?? '').href)
