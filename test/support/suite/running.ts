import type { Test } from 'tap'

/** The root test of the file that a worker runs at the moment; none in a process of one file. */
export const running: { root: Test | undefined } = { root: undefined }
