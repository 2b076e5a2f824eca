/**
 * Adapters for Node and the operating system: time, signals, processes, git.
 *
 * Importing this module installs nothing. `abortOnSignals()` installs signal handlers until its `dispose`; a running
 * command has an exit listener.
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
