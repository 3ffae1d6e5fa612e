import java.io.DataInput;
import java.io.DataOutput;
import java.io.File;
import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.util.GenericOptionsParser;

/**
 * Submits MapReduce jobs whose maps sleep, and waits for none of them: SleepingMaps JOBS MAPS SECONDS. Maps end early
 * once there is the file that -Dsleeping.until names, and begin to sleep once there is the one of -Dsleeping.from.
 */
public final class SleepingMaps {
  private static final String MAPS = "sleeping.maps";
  private static final String SECONDS = "sleeping.seconds";
  private static final String UNTIL = "sleeping.until";
  private static final String FROM = "sleeping.from";

  /** Sleeps a second at a time: a task that reports nothing for long is taken for dead. */
  public static final class Sleeper extends Mapper<NullWritable, NullWritable, NullWritable, NullWritable> {
    @Override
    public void run(Context context) throws java.io.IOException, InterruptedException {
      File from = new File(context.getConfiguration().get(FROM, "/"));
      while (!from.exists()) {
        Thread.sleep(1000);
        context.progress();
      }
      File until = new File(context.getConfiguration().get(UNTIL, "/nothing/of/this/name"));
      for (int left = context.getConfiguration().getInt(SECONDS, 1); left > 0 && !until.exists(); left--) {
        Thread.sleep(1000);
        context.progress();
      }
    }
  }

  /** A piece of nothing. */
  public static final class Nothing extends InputSplit implements Writable {
    @Override
    public long getLength() {
      return 0;
    }

    @Override
    public String[] getLocations() {
      return new String[0];
    }

    @Override
    public void write(DataOutput out) {
    }

    @Override
    public void readFields(DataInput in) {
    }
  }

  /** As many pieces as there shall be maps. */
  public static final class Pieces extends InputFormat<NullWritable, NullWritable> {
    @Override
    public List<InputSplit> getSplits(JobContext context) {
      List<InputSplit> pieces = new ArrayList<>();
      for (int left = context.getConfiguration().getInt(MAPS, 1); left > 0; left--) {
        pieces.add(new Nothing());
      }
      return pieces;
    }

    @Override
    public RecordReader<NullWritable, NullWritable> createRecordReader(InputSplit piece, TaskAttemptContext context) {
      return new NoRecords();
    }
  }

  /** Reads nothing. */
  private static final class NoRecords extends RecordReader<NullWritable, NullWritable> {
    @Override
    public void initialize(InputSplit piece, TaskAttemptContext context) {
    }

    @Override
    public boolean nextKeyValue() {
      return false;
    }

    @Override
    public NullWritable getCurrentKey() {
      return NullWritable.get();
    }

    @Override
    public NullWritable getCurrentValue() {
      return NullWritable.get();
    }

    @Override
    public float getProgress() {
      return 0;
    }

    @Override
    public void close() {
    }
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    String[] words = new GenericOptionsParser(configuration, arguments).getRemainingArgs();
    configuration.setInt(MAPS, Integer.parseInt(words[1]));
    configuration.setInt(SECONDS, Integer.parseInt(words[2]));
    for (int left = Integer.parseInt(words[0]); left > 0; left--) {
      Job job = Job.getInstance(configuration, "sleeping maps");
      job.setJarByClass(SleepingMaps.class);
      job.setInputFormatClass(Pieces.class);
      job.setMapperClass(Sleeper.class);
      job.setOutputFormatClass(NullOutputFormat.class);
      job.setMapOutputKeyClass(NullWritable.class);
      job.setMapOutputValueClass(NullWritable.class);
      job.setNumReduceTasks(0);
      job.setSpeculativeExecution(false);
      job.submit();
      System.out.println("submitted " + job.getJobID());
    }
    System.exit(0);
  }
}
