import java.io.File;
import java.io.FileOutputStream;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.logaggregation.AggregatedLogFormat;

/** Writes a small file of aggregated logs as a NodeManager does: FILE COMPRESSION BYTES_OF_THE_LARGEST. */
public class WriteAggregatedLogs {
  public static void main(String[] args) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("fs.defaultFS", "file:///");
    conf.set("yarn.nodemanager.log-aggregation.compression-type", args[1]);
    File logs = new File(System.getProperty("java.io.tmpdir"), "heddle-logs-" + ProcessHandle.current().pid());
    UserGroupInformation user = UserGroupInformation.createRemoteUser("ada");
    AggregatedLogFormat.LogWriter writer = new AggregatedLogFormat.LogWriter();
    writer.initialize(conf, new Path(new File(args[0]).toURI()), UserGroupInformation.getCurrentUser());
    writer.writeApplicationOwner("ada");
    writer.writeApplicationACLs(Map.of(ApplicationAccessType.VIEW_APP, "bob staff"));
    for (int number = 1; number <= 3; number++) {
      ContainerId id = ContainerId.fromString("container_1700000000000_0006_01_00000" + number);
      File folder = new File(logs, "application_1700000000000_0006/" + id);
      folder.mkdirs();
      write(new File(folder, "stdout"), number == 3 ? Integer.parseInt(args[2]) : 40, "line of " + id + "\n");
      write(new File(folder, "stderr"), number == 2 ? 0 : 12, "oh dear\n");
      writer.append(new AggregatedLogFormat.LogKey(id),
          new AggregatedLogFormat.LogValue(List.of(logs.getPath()), id, System.getProperty("user.name")));
    }
    writer.close();
  }

  private static void write(File file, int bytes, String line) throws Exception {
    try (FileOutputStream out = new FileOutputStream(file)) {
      out.write(line.repeat(bytes / line.length() + 1).substring(0, bytes).getBytes());
    }
  }
}
