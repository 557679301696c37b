// What the end of a process says of its one call: 0, it returned; 1, it raised, or the process had
// nothing left to do while the call was still open.
process.exitCode = 1;
module.exports = (call) =>
  call.then(() => {
    process.exitCode = 0;
  });
