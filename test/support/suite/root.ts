/**
 * Takes the place of tap in the compiled test files. A worker runs many files, and tap has one root test per process, so each file
 * imports this module under a URL of its own and receives the root test that the worker made for the file.
 */
import t, { type Test } from 'tap'
import { running } from './running.ts'

export const root: Test = running.root ?? t
