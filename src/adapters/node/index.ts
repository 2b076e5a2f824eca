/**
 * What Node and the operating system offer: time, signals, processes.
 *
 * Importing this installs nothing. Signal handlers are there from `abortOnSignals()` to its `dispose`; an exit listener
 * while a command runs.
 *
 * @module
 */
export { systemClock } from './clock.js'
export { abortOnSignals, exitCode, interruptFrom, neverInterrupted } from './interrupt.js'
export type { SignalHandlers, StopSignal } from './interrupt.js'
export { nodeEnvironment } from './environment.js'
export { processOwner } from './owner.js'
export { environmentSecrets } from './secrets.js'
export type { Command, Ended, NotStarted, Subprocess } from './subprocess.js'
export { subprocess } from './subprocess.js'
export { workingTree } from './git/workingTree.js'
export { workspaces } from './git/workspaces.js'
export type { StorageProcess } from './storageProcess.js'
export { storageProcess } from './storageProcess.js'
